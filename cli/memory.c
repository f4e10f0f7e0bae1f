/* See memory.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/launch.h"
#include "cli/memory.h"

static void *checked(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "pcl: out of memory\n");
	exit(LAUNCH_FAILED);
}

void *memory_resize(void *old, size_t nr, size_t size)
{
	return checked(reallocarray(old, nr ? nr : 1, size));
}

void *memory_zeroed(size_t nr, size_t size)
{
	return checked(calloc(nr ? nr : 1, size));
}

char *memory_text(const char *text)
{
	return checked(strdup(text));
}
