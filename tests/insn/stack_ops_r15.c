/*
 * Not PIE, as the other.
 * cflags: -no-pie
 */
#define S "r15"
#include "tests/insn/stack_ops.c"
