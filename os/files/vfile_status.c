/*
 * /proc/PID/status of the reader's own process: the kernel's text, with the signal sets as the guest has them, and
 * without what pcl has mapped before the program began.
 *
 * What differs is only what os/sig/signal.h says that the kernel is not told: handlers of pcl's own, and the blocking
 * and ignoring of SIG_NEVER_BLOCKED.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include "dbt/code_memory.h"
#include "os/files/vfile.h"
#include "os/session/proc.h"
#include "os/sig/signal.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define TEXT_SIZE  4096 /* more than any kernel writes */
#define SET_DIGITS 16
#define SIZE_PLACES 8

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

/* The text of the kernel. "thread-self" is the caller, whichever thread reads. */
static long read_host(const struct thread *t, const struct vfile *v, char *text, size_t size)
{
	static const char self[] = "/proc/thread-self/";
	char path[64];

	if (strncmp(v->path, self, sizeof(self) - 1))
		return proc_read(v->path, text, size);
	rt_snprintf(path, sizeof(path), "/proc/self/task/%d/%s", v->pid, v->path + sizeof(self) - 1);
	return proc_read(path, text, size);
}

/* One thread less: a helper reads (os/session/apart.h). */
static void forget_helper(char *text)
{
	static const char name[] = "\nThreads:\t";
	char *at = strstr(text, name), *end, digits[16];
	u64 n = 0;
	size_t len;

	if (!at)
		return;
	at += sizeof(name) - 1;
	for (end = at; *end >= '0' && *end <= '9'; end++)
		n = n * 10 + (u64)(*end - '0');
	len = (size_t)rt_snprintf(digits, sizeof(digits), "%lu", n - 1);
	memcpy(at, digits, len);
	memmove(at + len, end, strlen(end) + 1);
}

/* Takes so many bytes off the size in "name:\t     NUMBER kB", which has eight places at least. */
static void take_off(char *text, const char *name, u64 bytes)
{
	char *at = strstr(text, name), *digits, *end;
	u64 kb = 0;

	if (!at)
		return;
	at += strlen(name);
	for (digits = at; *digits == ' '; digits++)
		;
	for (end = digits; *end >= '0' && *end <= '9'; end++)
		kb = kb * 10 + (u64)(*end - '0');
	kb -= MIN(kb, bytes / 1024);
	for (char *p = end; p-- > at; kb /= 10)
		*p = kb || p == end - 1 ? (char)('0' + kb % 10) : ' ';
	for (; end - at > SIZE_PLACES && *at == ' '; end--)
		memmove(at, at + 1, strlen(at));
}

int vfile_write_status(struct thread *t, const struct vfile *v, int fd)
{
	const struct session_config *config = &the_process.config;
	char text[TEXT_SIZE];
	u64 caught, ignored;
	long n;

	n = read_host(t, v, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (t->is_apart)
		forget_helper(text);
	take_off(text, "VmPeak:\t", config->own_as);
	take_off(text, "VmSize:\t", config->own_as);
	take_off(text, "VmData:\t", config->own_data - code_memory_shared());
	sighand_sets(t->sighand, &caught, &ignored);
	replace_set(text, "SigBlk:\t", ~SIG_NEVER_BLOCKED, hidden_mask(t, v->pid));
	replace_set(text, "SigIgn:\t", ~SIG_NEVER_BLOCKED, ignored & SIG_NEVER_BLOCKED);
	replace_set(text, "SigCgt:\t", 0, caught);
	n = (long)strlen(text);
	return sys3(__NR_write, fd, text, n) == n ? 0 : -EIO;
}
