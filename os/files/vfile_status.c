/*
 * /proc/PID/status, stat and statm of the session's processes: the kernel's text, without what pcl has mapped before
 * the program began, and for the reader's own process with the signal sets as the guest has them.
 *
 * Of the sets only that differs of which os/sig/signal.h says that the kernel is not told: handlers of pcl's own, and
 * the blocking and ignoring of SIG_NEVER_BLOCKED.
 *
 * What of pcl is resident nobody counts. A program could see that it is too much where it is more than what is mapped,
 * so it is cut there. With --pin it is not the host's at all: os/pin/machine.h.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include "dbt/code_memory.h"
#include "os/files/vfile.h"
#include "os/pin/machine.h"
#include "os/session/proc.h"
#include "os/sig/signal.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define TEXT_SIZE   4096 /* more than any kernel writes */
#define SET_DIGITS  16
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

/*
 * The set that the file's thread blocks is what the kernel says & *keep, or'ed with the result. For the caller *keep is
 * 0: while a helper reads the file all signals are blocked for the kernel.
 */
static u64 guest_mask(const struct thread *t, const struct vfile *v, u64 *keep)
{
	const struct thread *other;
	u64 mask = 0;

	*keep = v->pid == t->tid ? 0 : ~SIG_NEVER_BLOCKED;
	if (v->pid == t->tid)
		return t->sigmask;
	lock_acquire(&t->proc->threads_lock);
	for (other = t->proc->threads; other; other = other->next)
		if (other->tid == v->pid)
			mask = other->sigmask & SIG_NEVER_BLOCKED;
	lock_release(&t->proc->threads_lock);
	return mask;
}

long vfile_read_host(const struct vfile *v, char *text, size_t size)
{
	static const char self[] = "/proc/thread-self/";
	char path[64];

	if (strncmp(v->path, self, sizeof(self) - 1))
		return proc_read(v->path, text, size);
	rt_snprintf(path, sizeof(path), "/proc/self/task/%d/%s", v->pid, v->path + sizeof(self) - 1);
	return proc_read(path, text, size);
}

static int write_text(int fd, const char *text)
{
	long n = (long)strlen(text);

	return sys3(__NR_write, fd, text, n) == n ? 0 : -EIO;
}

static u64 number_at(const char *at)
{
	u64 n = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (u64)(*at - '0');
	return n;
}

/* Another number in the place of the one there; the text becomes shorter or longer. */
static void put_number(char *at, u64 value)
{
	char digits[24], *end = at;
	size_t len = (size_t)rt_snprintf(digits, sizeof(digits), "%lu", value);

	while (*end >= '0' && *end <= '9')
		end++;
	memmove(at + len, end, strlen(end) + 1);
	memcpy(at, digits, len);
}

/* One thread less: a helper reads (os/session/apart.h). */
static void forget_helper(char *text)
{
	static const char name[] = "\nThreads:\t";
	char *at = strstr(text, name);

	if (!at)
		return;
	at += sizeof(name) - 1;
	put_number(at, number_at(at) - 1);
}

static char *skip_blanks(char *text)
{
	while (*text == ' ')
		text++;
	return text;
}

/* A size in "name:\t     NUMBER kB": its place, behind the tab, and its value. NULL and 0: there is none. */
static char *find_size(char *text, const char *name, u64 *kb)
{
	char *at = strstr(text, name);

	if (at)
		at += strlen(name);
	*kb = at ? number_at(skip_blanks(at)) : 0;
	return at;
}

/* Writes a size at its place, as the kernel does, to the right of at least eight. It must not grow. Returns it. */
static u64 put_size(char *at, u64 kb)
{
	char *end = skip_blanks(at);
	u64 rest = kb;

	while (*end >= '0' && *end <= '9')
		end++;
	for (char *p = end; p-- > at; rest /= 10)
		*p = rest || p == end - 1 ? (char)('0' + rest % 10) : ' ';
	for (; end - at > SIZE_PLACES && *at == ' '; end--)
		memmove(at, at + 1, strlen(at));
	return kb;
}

/* Takes so many bytes off the size. Returns what is left, in KiB. */
static u64 take_off(char *text, const char *name, u64 bytes)
{
	u64 kb;
	char *at = find_size(text, name, &kb);

	return at ? put_size(at, kb - MIN(kb, bytes / 1024)) : 0;
}

/* Limits the size to `most` KiB. Returns how many KiB were cut. */
static u64 cut(char *text, const char *name, u64 most)
{
	u64 kb;
	char *at = find_size(text, name, &kb);

	return at && kb > most ? kb - put_size(at, most) : 0;
}

static void put_sizes(char *text)
{
	static const char *const parts[] = {"RssShmem:\t", "RssAnon:\t", "RssFile:\t"};
	const struct session_config *config = &the_process.config;
	u64 peak = take_off(text, "VmPeak:\t", config->own_as), size = take_off(text, "VmSize:\t", config->own_as),
	    more, part;

	take_off(text, "VmData:\t", config->own_data - code_memory_shared());
	cut(text, "VmHWM:\t", peak);
	more = cut(text, "VmRSS:\t", size);
	for (u32 i = 0; more && i < ARRAY_SIZE(parts); i++, more -= part) {
		find_size(text, parts[i], &part);
		part = MIN(part, more);
		take_off(text, parts[i], part * 1024);
	}
}

/* The size becomes so many KiB. */
static void set_size(char *text, const char *name, u64 kb)
{
	u64 old;
	char *at = find_size(text, name, &old);

	if (at)
		put_size(at, kb);
}

static void set_count(char *text, const char *name, u64 value)
{
	char *at = strstr(text, name);

	if (at)
		put_number(at + strlen(name), value);
}

/* What --pin holds still. */
static void hold_numbers(char *text)
{
	static const char *const resident[] = {"VmHWM:\t", "VmRSS:\t", "RssAnon:\t"};
	static const char *const none[] = {"RssFile:\t", "RssShmem:\t", "VmPTE:\t", "VmSwap:\t"};
	u64 size;

	find_size(text, "VmSize:\t", &size);
	for (u32 i = 0; held_still(PIN_MEMORY) && i < ARRAY_SIZE(resident); i++)
		set_size(text, resident[i], pin_resident(size * 1024) / 1024);
	for (u32 i = 0; held_still(PIN_MEMORY) && i < ARRAY_SIZE(none); i++)
		set_size(text, none[i], 0);
	if (held_still(PIN_MEMORY))
		set_count(text, "\nSigQ:\t", 0);
	if (!held_still(PIN_CLOCK))
		return;
	set_count(text, "\nvoluntary_ctxt_switches:\t", 0);
	set_count(text, "\nnonvoluntary_ctxt_switches:\t", 0);
}

static void put_sets(const struct thread *t, const struct vfile *v, char *text)
{
	u64 caught, ignored, keep, blocked = guest_mask(t, v, &keep);

	sighand_sets(t->sighand, &caught, &ignored);
	replace_set(text, "SigBlk:\t", keep, blocked);
	replace_set(text, "SigIgn:\t", ~SIG_NEVER_BLOCKED, ignored & SIG_NEVER_BLOCKED);
	replace_set(text, "SigCgt:\t", 0, caught);
}

int vfile_write_status(struct thread *t, const struct vfile *v, int fd)
{
	char text[TEXT_SIZE];
	long n = vfile_read_host(v, text, sizeof(text));

	if (n < 0)
		return (int)n;
	put_sizes(text);
	hold_numbers(text);
	if (v->pid) {
		if (t->is_apart)
			forget_helper(text);
		put_sets(t, v, text);
	}
	return write_text(fd, text);
}

/* The n-th of fields that single blanks separate, counted from 1. NULL: there are not so many. */
static char *find_field(char *text, u32 n, u64 *value)
{
	while (--n && text)
		text = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL;
	*value = text ? number_at(text) : 0;
	return text;
}

/* The n-th field becomes (what is there & keep) | set. */
static void replace_field(char *text, u32 n, u64 keep, u64 set)
{
	u64 old;
	char *at = find_field(text, n, &old);

	if (at)
		put_number(at, (old & keep) | set);
}

/* Takes pcl's share off field size_at, which counts units of so many bytes; no more pages are resident than that. */
static void put_mapped(char *text, u32 size_at, u64 unit, u32 resident_at)
{
	u64 size, pages, resident;
	char *at = find_field(text, size_at, &size);

	if (!at)
		return;
	size -= MIN(size, the_process.config.own_as / unit);
	put_number(at, size);
	pages = size * unit / PAGE_SIZE;
	at = find_field(text, resident_at, &resident);
	if (at && held_still(PIN_MEMORY))
		put_number(at, pin_resident(pages * PAGE_SIZE) / PAGE_SIZE);
	else if (at && resident > pages)
		put_number(at, pages);
}

/* Fields of /proc/PID/stat, as proc(5) counts them: 3 is the first one behind the command in parentheses. */
enum {
	STAT_STATE = 3,
	STAT_FAULTS = 10, /* minor ones, those of children, and the same of major ones */
	STAT_FAULTS_END = 14,
	STAT_THREADS = 20,
	STAT_VSIZE = 23,
	STAT_RSS,
	STAT_BLOCKED = 32,
	STAT_IGNORED,
	STAT_CAUGHT,
};
#define STAT_AT(field) ((field) - STAT_STATE + 1)
#define STAT_SIGNALS   0x7fffffffu /* those that it shows */

int vfile_write_stat(struct thread *t, const struct vfile *v, int fd)
{
	char text[TEXT_SIZE], *fields;
	u64 caught, ignored, keep, blocked, threads;
	long n = vfile_read_host(v, text, sizeof(text) - 64);

	if (n < 0)
		return (int)n;
	fields = strrchr(text, ')');
	if (!fields || fields[1] != ' ')
		return -EIO;
	fields += 2;
	put_mapped(fields, STAT_AT(STAT_VSIZE), 1, STAT_AT(STAT_RSS));
	for (u32 field = STAT_FAULTS; held_still(PIN_CLOCK) && field < STAT_FAULTS_END; field++)
		replace_field(fields, STAT_AT(field), 0, 0);
	if (v->pid) {
		blocked = guest_mask(t, v, &keep);
		sighand_sets(t->sighand, &caught, &ignored);
		find_field(fields, STAT_AT(STAT_THREADS), &threads);
		replace_field(fields, STAT_AT(STAT_THREADS), 0, threads - t->is_apart);
		replace_field(fields, STAT_AT(STAT_BLOCKED), keep, blocked & STAT_SIGNALS);
		replace_field(fields, STAT_AT(STAT_IGNORED), ~SIG_NEVER_BLOCKED, ignored & SIG_NEVER_BLOCKED);
		replace_field(fields, STAT_AT(STAT_CAUGHT), 0, caught & STAT_SIGNALS);
	}
	return write_text(fd, text);
}

/* Fields of /proc/PID/statm, in pages. */
enum { STATM_SIZE = 1, STATM_RESIDENT, STATM_SHARED, STATM_DATA = 6 };

int vfile_write_statm(const struct vfile *v, int fd)
{
	u64 data = the_process.config.own_data - code_memory_shared(), value, resident;
	char text[256], *at;
	long n = vfile_read_host(v, text, sizeof(text) - 64);

	if (n < 0)
		return (int)n;
	put_mapped(text, STATM_SIZE, PAGE_SIZE, STATM_RESIDENT);
	find_field(text, STATM_RESIDENT, &resident);
	at = find_field(text, STATM_SHARED, &value);
	if (at)
		put_number(at, held_still(PIN_MEMORY) ? 0 : MIN(value, resident));
	at = find_field(text, STATM_DATA, &value);
	if (at)
		put_number(at, value - MIN(value, data / PAGE_SIZE));
	return write_text(fd, text);
}
