/* See facts.h. */
#include "os/session/facts.h"

#include <asm-generic/errno.h>
#include "os/session/own_faults.h"
#include "os/session/proc.h"
#include "os/session/scratch.h"
#include "os/session/session.h"
#include "os/session/thread.h"
#include "rt/string.h"

/* A table by hash. */
struct known_fact {
	u64 serial; /* another than the present section's: the place is free */
	u32 slot, what;
	int ret;
	u64 value;
};

#define FIRST_ROOM 64u
#define SPREAD	   2654435761u

struct question {
	u32 slot;
	enum fact what;
};

/* Those of proc_read_stat(). */
static bool is_in_stat(enum fact what)
{
	return what == FACT_FAULTS_MIN || what == FACT_FAULTS_MAJ || what == FACT_CPU;
}

static u64 of_stat(const struct proc_stat *st, enum fact what)
{
	return what == FACT_CPU ? st->cpu : what == FACT_FAULTS_MAJ ? st->major : st->minor;
}

static int answer(u32 slot, enum fact what, u64 *out)
{
	const struct task *task = session_task(slot);
	struct proc_stat st = {0};
	int ret;

	if (!task)
		return -ESRCH;
	switch (what) {
	case FACT_CLOCK:
		return proc_read_cpu_time(task->pid, task->tid, out);
	case FACT_SWITCHES:
		return proc_read_switches(task->pid, task->tid, out);
	case FACT_MIGRATIONS:
		return proc_read_migrations(task->pid, task->tid, out);
	default:
		ret = own_faults_read_stat(task, &st);
		*out = of_stat(&st, what);
		return ret;
	}
}

/* Where it is, or the free place for it. */
static struct known_fact *place(const struct facts *f, u32 slot, u32 what)
{
	u32 at = (slot * 8 + what) * SPREAD;
	struct known_fact *k;

	do
		k = &f->known[at++ & (f->room - 1)];
	while (k->serial == f->serial && (k->slot != slot || k->what != what));
	return k;
}

static bool make_room(struct facts *f)
{
	struct facts more = {.serial = f->serial, .n = f->n, .room = f->room ? 2 * f->room : FIRST_ROOM};

	if (2 * f->n < f->room)
		return true;
	more.known = scratch_alloc(more.room * sizeof(*more.known));
	if (!more.known)
		return false;
	for (u32 i = 0; i < f->room; i++)
		if (f->known[i].serial == f->serial)
			*place(&more, f->known[i].slot, f->known[i].what) = f->known[i];
	facts_end(f);
	*f = more;
	return true;
}

static void keep(struct facts *f, const struct question *q, int ret, u64 value)
{
	struct known_fact *k;

	if (!make_room(f)) {
		f->no_room = f->serial;
		return;
	}
	k = place(f, q->slot, q->what);
	f->n += k->serial != f->serial;
	*k = (struct known_fact){.serial = f->serial, .slot = q->slot, .what = q->what, .ret = ret, .value = value};
}

/* One file tells several, and who asks for one kind of page faults asks for the other. */
static void keep_stat(struct facts *f, const struct question *q)
{
	const struct task *task = session_task(q->slot);
	struct proc_stat st = {0};
	int ret = task ? own_faults_read_stat(task, &st) : -ESRCH;

	for (u32 what = 0; what < FACTS; what++)
		if (is_in_stat(what))
			keep(f, &(struct question){q->slot, what}, ret, of_stat(&st, what));
}

/* Outside of the section. */
static void fetch(void *arg)
{
	struct thread *t = thread_current();
	const struct question *q = arg;
	struct facts *f = &t->facts;
	u64 value = 0;
	int ret;

	if (f->serial != t->section.serial)
		f->n = 0;
	f->serial = t->section.serial;
	if (is_in_stat(q->what)) {
		keep_stat(f, q);
	} else {
		ret = answer(q->slot, q->what, &value);
		keep(f, q, ret, value);
	}
}

int facts_ask(u32 slot, enum fact what, u64 *out)
{
	struct thread *t = thread_current();
	struct question q = {slot, what};
	struct facts *f = &t->facts;
	const struct known_fact *k;

	if (!t->section.open || t->section.after)
		return answer(slot, what, out);
	if (f->no_room == t->section.serial)
		return -ENOMEM;
	if (f->serial != t->section.serial || !f->room)
		section_leave_for(fetch, &q);
	k = place(f, slot, what);
	if (k->serial != f->serial)
		section_leave_for(fetch, &q);
	*out = k->value;
	return k->ret;
}

void facts_end(struct facts *f)
{
	if (f->room)
		scratch_free(f->known, f->room * sizeof(*f->known));
	f->room = 0;
	f->known = NULL;
}
