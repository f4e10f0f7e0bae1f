/* See rseq.h. */
#include "os/rseq.h"
#include <asm/errno.h>
#include <linux/mman.h>
#include "dbt/emit.h"
#include "dbt/enter.h"
#include "dbt/stop.h"
#include "os/process.h"
#include "os/sampling.h"
#include "os/signal.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define SIG_SIZE 4u /* in front of an abort handler */
#define SIG_PAGES 16u

/* The kernel wants the thread's signature in front of our abort handler too. Nearly all programs use that of dbt_section_abort; for others: */
static u64 page_of(u32 i)
{
	return LAYOUT_END - (i + 1) * PAGE_SIZE;
}

static u32 page_sig[SIG_PAGES]; /* 0: unused; written once */

static long make_page(u64 page, u32 sig)
{
	long ret = sys6(__NR_mmap, page, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct emit e = {.p = (u8 *)page};

	if (ret < 0)
		return ret;
	emit32(&e, sig);
	emit_jmp_cpu(&e, offsetof(struct cpu, rt_fn) + 8 * RT_SECTION_ABORT);
	return sys3(__NR_mprotect, page, PAGE_SIZE, PROT_READ | PROT_EXEC);
}

/* With the process's other threads out of the way: they register when they begin, and seldom with signatures of their own. */
static u64 abort_handler(struct thread *t, u32 sig)
{
	u64 found = 0;

	if (sig == dbt_section_signature)
		return (u64)dbt_section_abort;
	lock_acquire(&t->sighand->lock);
	for (u32 i = 0; i < SIG_PAGES && sig && !found; i++)
		if (page_sig[i] == sig || (!page_sig[i] && make_page(page_of(i), sig) == 0)) {
			page_sig[i] = sig;
			found = page_of(i) + SIG_SIZE;
		}
	lock_release(&t->sighand->lock);
	return found;
}

long sys_rseq(struct thread *t, const u64 *a)
{
	struct rseq_state *r = &t->rseq;
	u64 handler = abort_handler(t, (u32)a[3]);
	long ret;

	if (!handler && !(a[2] & RSEQ_FLAG_UNREGISTER))
		return refuse(ENOSYS, "no more signatures of restartable sequences");
	ret = syscall_pass(t, a);
	if (ret)
		return ret;
	r->armed = 0;
	r->area = (u32)a[2] & RSEQ_FLAG_UNREGISTER ? 0 : a[0];
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

/* What the kernel does when it finds the thread in there; it checks the descriptor only then. */
static void give_up(struct thread *t, const struct rseq_cs *cs)
{
	const u64 none = 0;
	u32 sig = 0;

	t->rseq.armed = 0;
	if (cs->version || cs->flags || cs->abort_ip - cs->start_ip < cs->post_commit_offset ||
	    guest_read(&sig, cs->abort_ip - SIG_SIZE, SIG_SIZE) || sig != t->rseq.sig || guest_write(word_of(&t->rseq), &none, sizeof(none)))
		signal_die(t, SIGSEGV);
	t->cpu->rip = cs->abort_ip;
	stat_inc(sections_aborted);
}

static void disarm(struct thread *t)
{
	t->rseq.armed = t->rseq.slow = 0;
	guest_exchange(word_of(&t->rseq), (u64)&t->rseq.host, t->rseq.desc);
}

enum whereabouts { IN_NONE, IN_SECTION, IN_GIVEN_UP };

/*
 * Whether a section is in force. One whose first instruction is reached with nothing in rseq_cs was given up just before: the kernel has cleared it.
 */
static enum whereabouts look(struct thread *t, struct rseq_cs *cs)
{
	struct rseq_state *r = &t->rseq;
	gva pc = t->cpu->rip, desc;

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
		desc = dbt_section_begins(pc);
		return desc && !guest_read(cs, desc, sizeof(*cs)) && is_inside(cs, pc) ? IN_GIVEN_UP : IN_NONE;
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
	dbt_guard(cpu, (gva)&cpu->guard_minus, ~0ul, NULL);
}

static void guard_none(struct cpu *cpu)
{
	dbt_guard(cpu, (gva)&cpu->guard_minus, 0, NULL);
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
			dbt_guard(cpu, word_of(r), (u64)&r->host, &r->host);
			break;
		case IN_NONE:
			guard_none(cpu);
		}
		cpu->aborted = 0;
		stop = r->armed && !r->slow ? dbt_section(cpu, fault) : DBT_NEAR;
		if (stop == DBT_NEAR)
			stop = sampling_step(t, fault);
		guard_all(cpu);
		if (cpu->aborted) {
			give_up(t, &cs);
			return DBT_INTERRUPT;
		}
	} while (stop == DBT_STEPPED && !t->attention && dbt_in_section(cpu->rip));
	if (r->armed && !is_inside(&r->guest, cpu->rip))
		disarm(t);
	return stop;
}

void rseq_signal(struct thread *t)
{
	struct rseq_cs cs;

	if (!t->rseq.area || look(t, &cs) == IN_NONE)
		return;
	give_up(t, &cs);
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
