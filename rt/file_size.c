/* See file_size.h. */
#include "rt/file_size.h"
#include <asm/errno.h>
#include <sys/resource.h>
#include "rt/sys.h"

/* 0; -EFBIG: the limit could not be raised, and is what it was. */
static long raise_limit(const struct rlimit *was, u64 size)
{
	struct rlimit more = {size, was->rlim_max < size ? size : was->rlim_max};

	return sys2(__NR_setrlimit, RLIMIT_FSIZE, &more) ? -EFBIG : 0;
}

long file_size_set(long fd, u64 size)
{
	struct rlimit was;
	long ret;

	if (sys2(__NR_getrlimit, RLIMIT_FSIZE, &was) || was.rlim_cur >= size)
		return sys2(__NR_ftruncate, fd, size);
	ret = raise_limit(&was, size);
	if (ret)
		return ret;
	ret = sys2(__NR_ftruncate, fd, size);
	sys2(__NR_setrlimit, RLIMIT_FSIZE, &was);
	return ret;
}
