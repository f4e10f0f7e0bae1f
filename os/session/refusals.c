/* See refusals.h. */
#include <asm/errno.h>
#include <asm/stat.h>
#include <linux/perf_event.h>
#include "os/session/arena.h"
#include "os/session/process.h"
#include "os/session/refusals.h"
#include "os/session/thread.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/hash.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

static u64 add(u64 h, const void *bytes, size_t len)
{
	for (const u8 *p = bytes; len; len--)
		h = fnv_add(h, *p++);
	return h;
}

static u64 key_of(const struct refusals_row *r)
{
	u64 h = add(FNV_BEGIN, &r->nr, sizeof(r->nr) + sizeof(r->err) + sizeof(r->comm));

	return add(h, r->why, strlen(r->why)) | 1;
}

static void copy_text(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = 0;
}

static void add_row(const struct thread *t, u32 nr, s32 err, const char *why)
{
	struct refusals *all = &arena()->refusals;
	struct refusals_row new = {.nr = nr, .err = err};

	copy_text(new.comm, t->task->comm, sizeof(new.comm));
	copy_text(new.why, why, sizeof(new.why));
	new.key = key_of(&new);
	for (u32 i = 0; i < REFUSALS; i++) {
		struct refusals_row *r = &all->row[(new.key + i) % REFUSALS];
		u64 key = 0;

		if (__atomic_compare_exchange_n(&r->key, &key, new.key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			memcpy(&r->nr, &new.nr, sizeof(new) - offsetof(struct refusals_row, nr));
		else if (key != new.key)
			continue;
		__atomic_fetch_add(&r->count, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&all->others, 1, __ATOMIC_RELAXED);
}

/* The row of t's program; if there is none yet and `make`, a free one. NULL: none. */
static struct refusals_tool *tool_of(const struct thread *t, bool make)
{
	struct refusals *all = &arena()->refusals;

	for (u32 i = 0; i < REFUSALS_TOOLS; i++) {
		struct refusals_tool *r = &all->tool[i];
		u32 state = REFUSALS_FREE;

		if (__atomic_load_n(&r->state, __ATOMIC_RELAXED) && !strncmp(r->comm, t->task->comm, sizeof(r->comm)))
			return r;
		if (make && __atomic_compare_exchange_n(&r->state, &state, REFUSALS_KERNEL, false, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED)) {
			copy_text(r->comm, t->task->comm, sizeof(r->comm));
			return r;
		}
	}
	return NULL;
}

void refusals_asked_again(const struct thread *t)
{
	struct refusals_tool *r = tool_of(t, false);

	if (r)
		__atomic_store_n(&r->state, REFUSALS_AGAIN, __ATOMIC_RELAXED);
}

/* Of the event that t wants to open. False: it is not to be read. */
static bool read_attr(const struct thread *t, struct perf_event_attr *attr)
{
	return !guest_read(attr, t->args[0], PERF_ATTR_SIZE_VER0);
}

/* It would count nothing: perf opens such an event for records of BPF programs, and goes on without them. */
static bool is_dummy(const struct thread *t)
{
	struct perf_event_attr attr;

	return read_attr(t, &attr) && attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_DUMMY;
}

/* Refused for another reason. An event of software may be so without a word of modes. */
static bool is_asked_again(const struct thread *t)
{
	struct perf_event_attr attr;

	return t->nr == __NR_perf_event_open && !t->refusal.kernel_mode && read_attr(t, &attr) && attr.exclude_kernel;
}

static void note_kernel(const struct thread *t)
{
	struct refusals_tool *r = is_dummy(t) ? NULL : tool_of(t, true);

	if (r)
		__atomic_store_n(&r->state, REFUSALS_KERNEL, __ATOMIC_RELAXED);
}

bool refusals_add(struct thread *t, long ret)
{
	struct refusals *all = &arena()->refusals;

	if (is_asked_again(t))
		refusals_asked_again(t);
	if (t->task->pid == all->speaker)
		;
	else if (t->refusal.kernel_mode)
		note_kernel(t);
	else if (t->nr == __NR_perf_event_open || t->nr == __NR_ptrace)
		__atomic_fetch_add(&all->told, 1, __ATOMIC_RELAXED);
	if (the_process.config.why)
		add_row(t, (u32)t->nr, (s32)-ret, t->refusal.why);
	return all->told && t->task->pid == all->first;
}

void refusals_add_instruction(const struct thread *t, s32 signo, const char *why)
{
	if (the_process.config.why)
		add_row(t, REFUSALS_INSTRUCTION, signo, why);
}

static bool is_its_standard_error(const struct refusals *all)
{
	struct stat st;

	return all->error_inode && !sys2(__NR_fstat, 2, &st) && st.st_dev == all->error_device &&
	       st.st_ino == all->error_inode;
}

/* Their names, as many as there are room for. Returns the new end. */
static size_t add_names(char *line, size_t size, size_t at)
{
	const struct refusals *all = &arena()->refusals;
	size_t start = at;

	for (u32 i = 0; i < REFUSALS_TOOLS; i++) {
		char name[sizeof(all->tool[i].comm)];

		if (__atomic_load_n(&all->tool[i].state, __ATOMIC_RELAXED) != REFUSALS_KERNEL)
			continue;
		copy_text(name, all->tool[i].comm, sizeof(name));
		for (char *c = name; *c; c++)
			*c = *c < ' ' || *c > '~' ? '?' : *c;
		at = rt_append(line, size, at, "%s%s", at > start ? ", " : "", name);
	}
	return at;
}

void refusals_last_word(const struct thread *t, s32 status)
{
	static const char begin[] = "pcl: ";
	const struct refusals *all = &arena()->refusals;
	const struct session_config *c = &the_process.config;
	char line[512];
	size_t at;

	if (likely(t->task->pid != all->first) || c->why || c->strace || t->strict ||
	    __atomic_load_n(&c->filtered, __ATOMIC_RELAXED) || !is_its_standard_error(all))
		return;
	at = rt_append(line, sizeof(line), 0, begin);
	at = add_names(line, sizeof(line), at);
	if (at > sizeof(begin) - 1) {
		at = rt_append(line, sizeof(line), at, "%s\n", REFUSALS_KERNEL_TEXT);
		log_write(line, at);
	}
	if (status & 0xff && all->told) {
		at = rt_append(line, sizeof(line), 0,
			       "pcl: %u call%s of perf_event_open or ptrace %s refused; pcl --why PROGRAM says why\n",
			       all->told, all->told == 1 ? "" : "s", all->told == 1 ? "was" : "were");
		log_write(line, at);
	}
}
