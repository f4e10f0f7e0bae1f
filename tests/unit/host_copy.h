/* The caller's memory of event/host.h, where it is the test's own. Included once by each test program. */
#ifndef TESTS_UNIT_HOST_COPY_H
#define TESTS_UNIT_HOST_COPY_H

#include <errno.h>
#include <string.h>
#include "event/host.h"

int host_copy_in(void *to, gva from, size_t n)
{
	memcpy(to, (const void *)from, n);
	return 0;
}

int host_copy_out(gva to, const void *from, size_t n)
{
	memcpy((void *)to, from, n);
	return 0;
}

long host_copy_string(char *to, gva from, size_t size)
{
	size_t n = strnlen((const char *)from, size);

	if (n == size)
		return -ENAMETOOLONG;
	memcpy(to, (const void *)from, n + 1);
	return (long)n;
}

#endif
