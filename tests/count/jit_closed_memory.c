#define CLOSED
#include "tests/count/jit_two_mappings.c"
