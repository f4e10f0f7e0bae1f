#include "tests/count/threads.c"
