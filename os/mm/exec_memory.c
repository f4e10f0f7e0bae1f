/* See os/mm/exec_memory.h. */
#include "os/mm/exec_memory.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include "os/mm/vma.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#define PR_GET_MDWE_		 66 /* linux/prctl.h */
#define PR_MDWE_REFUSE_EXEC_GAIN_ 1

#define WRITE_AND_EXEC (PROT_WRITE | PROT_EXEC)

static bool mdwe(void)
{
	long ret = sys5(__NR_prctl, PR_GET_MDWE_, 0, 0, 0, 0);

	return ret > 0 && (ret & PR_MDWE_REFUSE_EXEC_GAIN_);
}

bool exec_memory_denies(int prot)
{
	return (prot & WRITE_AND_EXEC) == WRITE_AND_EXEC && mdwe();
}

long exec_memory_mmap(const u64 *a)
{
	/* Without a length the kernel maps nothing, and says EINVAL. */
	long ret = sys6(__NR_mmap, a[0], 0, a[2], a[3], a[4], a[5]);

	if (ret != -EINVAL)
		return ret;
	/* This fails, for the reason that the kernel finds first. */
	return exec_memory_denies((int)a[2]) ? sys6(__NR_mmap, a[0], a[1], a[2], a[3], a[4], a[5]) : 0;
}

long exec_memory_protect(long nr, const u64 *a, u64 pkey)
{
	return sys4(nr, a[0], 0, a[2], pkey); /* nothing to do */
}

long exec_memory_shmat(const u64 *a)
{
	long ret = sys3(__NR_shmat, -1, 0, a[2]); /* no such segment */

	if (ret != -EINVAL)
		return ret;
	return exec_memory_denies(a[2] & SHM_RDONLY ? PROT_EXEC : WRITE_AND_EXEC) ? sys3(__NR_shmat, a[0], a[1], a[2])
										  : 0;
}

gva exec_memory_denied_locked(gva start, gva end, int prot)
{
	const struct vma *v;
	gva at = start;

	if (!(prot & PROT_EXEC) || !mdwe())
		return end;
	for (v = vma_next_locked(at); v && v->start <= at && at < end; v = vma_next_locked(at)) {
		if ((prot & PROT_WRITE) || !(v->prot & PROT_EXEC))
			return at;
		at = v->end;
	}
	return end;
}
