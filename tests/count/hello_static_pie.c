#include "tests/count/hello_static.c"
