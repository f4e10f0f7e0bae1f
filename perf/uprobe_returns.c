/*
 * Calls whose return is probed: see uprobes.h.
 *
 * When a probed function begins, the thread notes where it will return to, and where on the stack that stands.
 * Translated code stops at that address from then on. The function has returned when the thread comes there by an
 * indirect branch, which a return is, with the word taken off the stack. The kernel replaces the word instead, which
 * guests can see; what is counted is the same:
 *
 *   recursion   a note for each call; the stack pointer tells them apart
 *   tail call   a note of the same word by another function: both return at once
 *   longjmp     notes of words below the stack pointer are forgotten when a function begins or returns there
 *
 * Notes are as many as there are calls (the kernel has 64 of them). An address stays one that stops, as long as returns
 * are probed: it is for the same callers, as a rule, and to forget translations costs more than to stop.
 */
#include "cpu/cpu.h"
#include "dbt/dbt.h"
#include "os/session/scratch.h"
#include "perf/uprobes.h"
#include "rt/guest.h"
#include "rt/lock.h"
#include "rt/string.h"

#define ROOM_FIRST 64u
#define POPPED_MAX 0xffffu /* what `ret imm16` takes off besides */

struct call {
	gva sp; /* where its return address stands */
	gva ret;
	gva func; /* the site */
};

struct uprobe_returns {
	u32 n, room;
	struct call call[]; /* the innermost last */
};

/* ---- addresses that stop: a hash table, at most half full; key 0 is free ---- */

static struct lock set_lock WRITTEN_BY_FORK = {.rank = RANK_RETURNS};
static struct {
	gva *key;
	u32 n, room;
} set;

static u32 place_of(gva key)
{
	u32 i = (u32)(key * 0x9e3779b97f4a7c15ul >> 32) & (set.room - 1);

	while (set.key[i] && set.key[i] != key)
		i = (i + 1) & (set.room - 1);
	return i;
}

static bool grow(void)
{
	gva *old = set.key;
	u32 room = set.room;
	gva *new = scratch_alloc(MAX(2 * room, ROOM_FIRST) * sizeof(*new));

	if (!new)
		return false;
	set.key = new;
	set.room = MAX(2 * room, ROOM_FIRST);
	for (u32 i = 0; i < room; i++)
		if (old[i])
			set.key[place_of(old[i])] = old[i];
	if (old)
		scratch_free(old, room * sizeof(*old));
	return true;
}

void uprobe_returns_to(gva addr)
{
	bool known;

	lock_acquire(&set_lock);
	known = set.room && set.key[place_of(addr)];
	if (!known && (2 * (set.n + 1) <= set.room || grow())) {
		set.key[place_of(addr)] = addr;
		set.n++;
		dbt_break_set(addr, true);
	}
	lock_release(&set_lock);
}

void uprobe_returns_forget(void)
{
	gva *key;
	u32 room;

	lock_acquire(&set_lock);
	key = set.key;
	room = set.room;
	for (u32 i = 0; i < room; i++)
		if (key[i])
			dbt_break_set(key[i], false);
	set.n = set.room = 0; /* in this order: who does it may die (rt/lock.h) */
	set.key = NULL;
	if (key)
		scratch_free(key, room * sizeof(*key));
	lock_release(&set_lock);
}

void uprobe_returns_before_fork(void)
{
	lock_acquire(&set_lock);
}

void uprobe_returns_after_fork(void)
{
	lock_release(&set_lock);
}

/* In the child of a fork, which has no breakpoints any more: those of its own calls. */
void uprobe_returns_forked(struct thread *t)
{
	const struct uprobe_returns *r = t->returns;

	uprobe_returns_forget();
	for (u32 i = 0; r && i < r->n; i++)
		uprobe_returns_to(r->call[i].ret);
}

/* ---- calls ---- */

static u64 bytes_for(u32 room)
{
	return sizeof(struct uprobe_returns) + room * sizeof(struct call);
}

void uprobe_returns_drop(struct thread *t)
{
	if (t->returns)
		scratch_free(t->returns, bytes_for(t->returns->room));
	t->returns = NULL;
}

static bool make_room(struct thread *t)
{
	struct uprobe_returns *old = t->returns, *new;
	u32 room = old ? 2 * old->room : ROOM_FIRST;

	if (old && old->n < old->room)
		return true;
	new = scratch_alloc(bytes_for(room));
	if (!new)
		return false;
	if (old)
		memcpy(new, old, bytes_for(old->n));
	new->room = room;
	uprobe_returns_drop(t);
	t->returns = new;
	return true;
}

/* The first of those that wait for the same word as the i-th. */
static u32 first_of(const struct uprobe_returns *r, u32 i)
{
	while (i && r->call[i - 1].sp == r->call[i].sp)
		i--;
	return i;
}

static bool has_function(const struct uprobe_returns *r, u32 from, gva func)
{
	for (u32 i = from; i < r->n; i++)
		if (r->call[i].func == func)
			return true;
	return false;
}

/*
 * Calls that a new one with its return address at sp shows to be gone. The same word waits for several functions if
 * one has jumped to the other; if it is the same function, it was left by a longjmp, and is called again.
 */
static void forget_gone(struct uprobe_returns *r, const struct call *new)
{
	u32 first;

	while (r->n && r->call[r->n - 1].sp < new->sp)
		r->n--;
	if (!r->n || r->call[r->n - 1].sp != new->sp)
		return;
	first = first_of(r, r->n - 1);
	if (r->call[first].ret != new->ret || has_function(r, first, new->func))
		r->n = first;
}

void uprobe_call(struct thread *t, const struct snapshot_regs *regs)
{
	struct call new = {.sp = regs->gpr[REG_SP], .func = regs->rip};

	if (guest_read(&new.ret, new.sp, sizeof(new.ret)))
		return;
	if (t->returns)
		forget_gone(t->returns, &new);
	if (!make_room(t))
		return;
	t->returns->call[t->returns->n++] = new;
	uprobe_returns_to(new.ret);
}

/* Which call has returned to pc, with that stack pointer; -1: none. */
static s64 find_returned(const struct uprobe_returns *r, gva pc, gva sp, enum cpu_arrived arrived)
{
	for (u32 i = r->n; i--;)
		if (r->call[i].ret == pc && r->call[i].sp + 8 == sp)
			return i;
	for (u32 i = r->n; arrived == CPU_ARRIVED_INDIRECTLY && i--;)
		if (r->call[i].ret == pc && sp - r->call[i].sp - 8 <= POPPED_MAX)
			return i;
	return -1;
}

static void trace_returned(struct thread *t, gva func, const struct snapshot_regs *regs)
{
	for (u32 row = 0; uprobe_site(func, &row); row++)
		if (probe_row(row)->place.is_return)
			uprobe_trace(t, row, func, regs);
}

void uprobes_returned(struct thread *t, const struct snapshot_regs *regs)
{
	enum cpu_arrived arrived = t->cpu->arrived;
	struct uprobe_returns *r = t->returns;
	u32 first;
	s64 last;

	t->cpu->arrived = CPU_ARRIVED;
	if (!r || !r->n || arrived == CPU_ARRIVED_DIRECTLY)
		return;
	last = find_returned(r, regs->rip, regs->gpr[REG_SP], arrived);
	if (last < 0)
		return;
	first = first_of(r, (u32)last);
	for (u32 i = (u32)last + 1; i-- > first;)
		trace_returned(t, r->call[i].func, regs);
	r->n = first;
}
