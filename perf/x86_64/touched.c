/* See perf/touched.h: the error code of a page fault on x86. */
#include "perf/touched.h"

#define PF_PRESENT 1u
#define PF_WRITE   2u
#define PF_USER	   4u
#define PF_FETCH   16u

u64 touch_error_code(const struct touch *p, bool present)
{
	return PF_USER | (present ? PF_PRESENT : 0) | (p->write ? PF_WRITE : 0) | (p->fetch ? PF_FETCH : 0);
}
