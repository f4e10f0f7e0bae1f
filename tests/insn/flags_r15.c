#define S "r15"
#include "tests/insn/flags.c"
