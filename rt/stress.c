/* See stress.h. */
#include "rt/stress.h"

u32 stress_ways;
