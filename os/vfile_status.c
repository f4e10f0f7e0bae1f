/*
 * /proc/PID/status of the reader's own process: the kernel's text, with the signal sets as the guest has them.
 *
 * What differs is only what os/signal.h says that the kernel is not told: handlers of pcl's own, and the blocking and
 * ignoring of SIG_NEVER_BLOCKED.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include "os/signal.h"
#include "os/vfile.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define TEXT_SIZE  4096 /* more than any kernel writes */
#define SET_DIGITS 16

/* Replaces the set after "name:\t" by `set` | (what is there & keep). */
static void replace_set(char *text, const char *name, u64 keep, u64 set)
{
	char *at = strstr(text, name);
	char digits[SET_DIGITS + 1];
	u64 old = 0;

	if (!at)
		return;
	at += strlen(name);
	if (strnlen(at, SET_DIGITS) < SET_DIGITS)
		return;
	for (int i = 0; i < SET_DIGITS; i++)
		old = old << 4 | (u64)(at[i] <= '9' ? at[i] - '0' : at[i] - 'a' + 10);
	rt_snprintf(digits, sizeof(digits), "%016lx", (old & keep) | set);
	memcpy(at, digits, SET_DIGITS);
}

/* The guest's blocked set of one of the process's threads, as far as the kernel does not know it. */
static u64 hidden_mask(const struct thread *t, s32 tid)
{
	const struct thread *other;
	u64 mask = 0;

	lock_acquire(&t->proc->threads_lock);
	for (other = t->proc->threads; other; other = other->next)
		if (other->tid == tid)
			mask = other->sigmask & SIG_NEVER_BLOCKED;
	lock_release(&t->proc->threads_lock);
	return mask;
}

int vfile_write_status(struct thread *t, const struct vfile *v, int fd)
{
	char text[TEXT_SIZE];
	u64 caught, ignored;
	long in, n;

	in = sys4(__NR_openat, AT_FDCWD, v->path, O_RDONLY | O_CLOEXEC, 0);
	if (in < 0)
		return (int)in;
	n = sys3(__NR_read, in, text, sizeof(text) - 1);
	sys1(__NR_close, in);
	if (n < 0)
		return (int)n;
	text[n] = 0;
	sighand_sets(t->sighand, &caught, &ignored);
	replace_set(text, "SigBlk:\t", ~SIG_NEVER_BLOCKED, hidden_mask(t, v->pid));
	replace_set(text, "SigIgn:\t", ~SIG_NEVER_BLOCKED, ignored & SIG_NEVER_BLOCKED);
	replace_set(text, "SigCgt:\t", 0, caught);
	return sys3(__NR_write, fd, text, n) == n ? 0 : -EIO;
}
