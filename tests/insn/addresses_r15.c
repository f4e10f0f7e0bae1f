#define S "r15"
#include "tests/insn/addresses.c"
