/* See rseq.h. */
#include "os/sig/rseq.h"
#include <asm/errno.h>
#include "os/guest_insn.h"
#include "os/session/process.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define SIG_SIZE 4u /* in front of an abort handler */

long sys_rseq(struct thread *t, const u64 *a)
{
	struct rseq_state *r = &t->rseq;
	bool ends = (u32)a[2] & RSEQ_FLAG_UNREGISTER;
	long ret = syscall_pass(t, a);
	u64 handler;

	if (ret)
		return ret;
	handler = ends ? 0 : dbt_rseq_cs_handler((u32)a[3]);
	if (!handler && !ends) {
		sys4(__NR_rseq, a[0], a[1], RSEQ_FLAG_UNREGISTER, a[3]);
		return refuse(ENOSYS, "no memory for the signature");
	}
	r->armed = 0;
	r->area = ends ? 0 : a[0];
	r->sig = (u32)a[3];
	r->host = (struct rseq_cs){.abort_ip = handler};
	return 0;
}

static gva word_of(const struct rseq_state *r)
{
	return r->area + offsetof(struct rseq, rseq_cs);
}

static bool is_inside(const struct rseq_cs *cs, gva pc)
{
	return pc - cs->start_ip < cs->post_commit_offset;
}

static bool is_signed(const struct thread *t, const struct rseq_cs *cs)
{
	u32 sig;

	return !guest_read(&sig, cs->abort_ip - SIG_SIZE, SIG_SIZE) && sig == t->rseq.sig;
}

/* What the kernel does when it finds the thread in there; it checks the descriptor only then. */
static void give_up(struct thread *t, const struct rseq_cs *cs)
{
	const u64 none = 0;

	t->rseq.armed = 0;
	if (cs->version || cs->flags || cs->abort_ip - cs->start_ip < cs->post_commit_offset || !is_signed(t, cs) ||
	    guest_write(word_of(&t->rseq), &none, sizeof(none)))
		signal_die(t, SIGSEGV);
	t->cpu->rip = cs->abort_ip;
	stat_inc(sections_aborted);
}

static void disarm(struct thread *t)
{
	t->rseq.armed = t->rseq.slow = 0;
	guest_exchange(word_of(&t->rseq), (u64)&t->rseq.host, t->rseq.desc);
}

/*
 * The thread has come to a section's first instruction, behind the one at set_at: that has stored the descriptor's
 * address, but to another struct rseq than the kernel knows, so the section is in force for nobody.
 */
static bool is_set_elsewhere(const struct thread *t, gva set_at, gva desc)
{
	struct isa_access access[ISA_ACCESSES];
	struct snapshot_regs regs;
	struct isa_regs operands;
	struct insn in;

	if (!set_at || !guest_insn_decode(set_at, &in))
		return false;
	perf_regs(t->cpu, &regs);
	guest_insn_regs(&regs, &in, &operands);
	return guest_insn_stores(&in, &operands, desc) && isa_accesses(&in, set_at, &operands, access) == 1 &&
	       access[0].addr != word_of(&t->rseq);
}

/* The descriptor of the section that begins here, if the thread has stored that; 0: it has not. */
static gva stored(const struct thread *t)
{
	gva set_at, desc = dbt_rseq_cs_begins(t->cpu->rip, &set_at);

	return desc && !is_set_elsewhere(t, set_at, desc) ? desc : 0;
}

enum whereabouts { IN_NONE, IN_SECTION, IN_GIVEN_UP };

/* The thread enters the section of a descriptor, which the kernel is not to know of. */
static enum whereabouts enter_alone(struct rseq_state *r, gva desc, gva pc)
{
	if (!desc || guest_read(&r->guest, desc, sizeof(r->guest)) || !is_inside(&r->guest, pc))
		return IN_NONE;
	r->desc = desc;
	r->armed = 1;
	return IN_SECTION;
}

/* look() with --pin=schedule. */
static enum whereabouts look_alone(struct thread *t, struct rseq_cs *cs)
{
	struct rseq_state *r = &t->rseq;
	enum whereabouts where = IN_SECTION;
	gva pc = t->cpu->rip, desc;

	if (r->armed && !is_inside(&r->guest, pc))
		r->armed = r->slow = 0;
	if (!r->area || guest_read(&desc, word_of(r), sizeof(desc)))
		return IN_NONE;
	if (!r->armed)
		where = enter_alone(r, desc ? desc : stored(t), pc);
	*cs = r->guest;
	return where;
}

/*
 * Whether a section is in force. One whose first instruction is reached with nothing in rseq_cs was given up just
 * before: the kernel has cleared it.
 */
static enum whereabouts look(struct thread *t, struct rseq_cs *cs)
{
	struct rseq_state *r = &t->rseq;
	gva pc = t->cpu->rip, desc;

	if (held_still(PIN_SCHEDULE))
		return look_alone(t, cs);
	if (r->armed && !is_inside(&r->guest, pc))
		disarm(t);
	if (!r->area || guest_read(&desc, word_of(r), sizeof(desc)))
		return IN_NONE;
	if (r->armed && (!desc || desc == (u64)&r->host)) {
		*cs = r->guest;
		return desc ? IN_SECTION : IN_GIVEN_UP;
	}
	r->armed = 0;
	if (!desc) {
		desc = stored(t);
		return desc && !guest_read(cs, desc, sizeof(*cs)) && is_inside(cs, pc) && is_signed(t, cs) ? IN_GIVEN_UP
													   : IN_NONE;
	}
	if (guest_read(cs, desc, sizeof(*cs)) || !is_inside(cs, pc))
		return IN_NONE;
	r->desc = desc;
	r->guest = *cs;
	r->armed = guest_exchange(word_of(r), desc, (u64)&r->host) == 0;
	return r->armed ? IN_SECTION : IN_GIVEN_UP;
}

/* No instruction of a section is executed but by rseq_run(). */
static void guard_all(struct cpu *cpu)
{
	dbt_guard(cpu, (gva)&cpu->guard.minus, ~0ul, NULL);
}

static void guard_none(struct cpu *cpu)
{
	dbt_guard(cpu, (gva)&cpu->guard.minus, 0, NULL);
}

enum dbt_stop rseq_run(struct thread *t, struct dbt_fault *fault)
{
	struct rseq_state *r = &t->rseq;
	struct cpu *cpu = t->cpu;
	enum dbt_stop stop;
	struct rseq_cs cs;

	do {
		switch (look(t, &cs)) {
		case IN_GIVEN_UP:
			give_up(t, &cs);
			return DBT_STEPPED;
		case IN_SECTION:
			if (held_still(PIN_SCHEDULE))
				guard_none(cpu);
			else
				dbt_guard(cpu, word_of(r), (u64)&r->host, &r->host);
			break;
		case IN_NONE:
			guard_none(cpu);
		}
		cpu->guard.aborted = 0;
		stop = r->armed && !r->slow ? dbt_rseq_cs(cpu, fault) : DBT_NEAR;
		if (stop == DBT_NEAR)
			stop = perf_step(t, fault);
		guard_all(cpu);
		if (cpu->guard.aborted) {
			give_up(t, &cs);
			return DBT_INTERRUPT;
		}
	} while (stop == DBT_STEPPED && !t->attention && !t->turn.over && dbt_in_rseq_cs(cpu->rip));
	if (r->armed && !is_inside(&r->guest, cpu->rip))
		disarm(t);
	return stop;
}

bool rseq_give_up(struct thread *t)
{
	struct rseq_cs cs;

	if (!t->rseq.area || look(t, &cs) == IN_NONE)
		return false;
	give_up(t, &cs);
	return true;
}

bool rseq_gave_up(const struct thread *t, u64 host_pc)
{
	return t->rseq.armed && host_pc == t->rseq.host.abort_ip;
}

bool rseq_fault_again(struct thread *t)
{
	t->rseq.slow = !t->rseq.slow;
	return t->rseq.slow;
}
