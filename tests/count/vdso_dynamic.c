#include "tests/count/vdso.c"
