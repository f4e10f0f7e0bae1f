/* See dbt/rseq_cs.h. */
#include "dbt/rseq_cs.h"
#include <linux/mman.h>
#include <linux/rseq.h>
#include "dbt/enter.h"
#include "dbt/invalidate.h"
#include "dbt/run.h"
#include "dbt/trace.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/sys.h"

#define SECTIONS 2048u
#define SECTION_MAX 0x10000u /* bytes; one that is longer is none */
#define LOWEST 0x10000u	     /* numbers below are no addresses */
#define TASK_END 0x7ffffffff000ul
#define SIG_SIZE 4u /* in front of an abort handler */
#define SIG_PAGES 16u
#define INSN_MAX 15u  /* bytes */
#define SETTER_MAX 4u /* instructions from the one that loads a descriptor's address to the section */

/* Append-only. Read without the lock up to dbt_rseq_cs_known, which is published last. */
static struct rseq_cs_range {
	u64 start, end;
	u64 desc;   /* guest address of a struct rseq_cs of it */
	u64 set_at; /* of the instruction in front of it, if that stores something: desc to a struct rseq */
} sections[SECTIONS];
u32 dbt_rseq_cs_known;
static u32 nforgotten;

/* A bit for each 64 bytes of code, by the low bits of its address: sections may be there. */
#define FILTER_BITS 4096u
static u64 filter[FILTER_BITS / 64];

static u32 filter_bit(u64 pc)
{
	return pc / 64 % FILTER_BITS;
}

static const struct rseq_cs_range *find(u64 pc)
{
	u32 bit = filter_bit(pc), n;

	if (likely(!(__atomic_load_n(&filter[bit / 64], __ATOMIC_RELAXED) >> bit % 64 & 1)))
		return NULL;
	n = __atomic_load_n(&dbt_rseq_cs_known, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < n; i++)
		if (pc >= sections[i].start && pc < sections[i].end)
			return &sections[i];
	return NULL;
}

bool dbt_find_rseq_cs(gva pc)
{
	return find(pc);
}

gva dbt_rseq_cs_begins(gva pc, gva *set_at)
{
	const struct rseq_cs_range *s = find(pc);

	if (!s || s->start != pc)
		return 0;
	*set_at = s->set_at;
	return s->desc;
}

/*
 * The kernel wants the thread's signature in front of our abort handler, too. Nearly all programs use that of
 * dbt_rseq_cs_abort. For others there are pages. With dbt_lock.
 */
static u32 page_sig[SIG_PAGES], npages;

static u64 page_of(u32 i)
{
	return LAYOUT_END - (i + 1) * PAGE_SIZE;
}

static long make_page(u64 page, u32 sig)
{
	long ret = sys6(__NR_mmap, page, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			0);

	if (ret < 0)
		return ret;
	rseq_cs_emit_handler((u8 *)page, sig);
	return sys3(__NR_mprotect, page, PAGE_SIZE, PROT_READ | PROT_EXEC);
}

u64 dbt_rseq_cs_handler(u32 sig)
{
	u64 found = 0;
	u32 i;

	if (sig == dbt_rseq_cs_signature)
		return (u64)dbt_rseq_cs_abort;
	lock_acquire(&dbt_lock);
	for (i = 0; i < npages && page_sig[i] != sig; i++)
		;
	if (i < npages) {
		found = page_of(i) + SIG_SIZE;
	} else if (i < SIG_PAGES && make_page(page_of(i), sig) == 0) {
		page_sig[npages++] = sig;
		dbt_forget_range(0, TASK_END); /* code may have been passed by that is to be looked at */
		found = page_of(i) + SIG_SIZE;
	}
	lock_release(&dbt_lock);
	return found;
}

static bool is_signature(u32 sig)
{
	for (u32 i = 0; i < npages; i++)
		if (sig == page_sig[i])
			return true;
	return sig == dbt_rseq_cs_signature;
}

static bool has(u64 addr, int prot)
{
	struct dbt_mapping m;

	return dbt_host_mapping(addr, &m) == 0 && (m.prot & prot);
}

/* What is at addr is such that the kernel would take it for a section of code. */
static bool is_descriptor(u64 addr, struct rseq_cs *cs)
{
	u32 sig;

	if (addr < LOWEST || addr % __alignof__(struct rseq_cs) || addr >= TASK_END || !has(addr, PROT_READ) ||
	    guest_read(cs, addr, sizeof(*cs)))
		return false;
	if (cs->version || cs->flags || !cs->post_commit_offset || cs->post_commit_offset > SECTION_MAX)
		return false;
	if (cs->start_ip < LOWEST || cs->start_ip >= TASK_END || cs->abort_ip < LOWEST || cs->abort_ip >= TASK_END)
		return false;
	if (cs->abort_ip - cs->start_ip < cs->post_commit_offset || !has(cs->start_ip, PROT_EXEC) ||
	    !has(cs->abort_ip - SIG_SIZE, PROT_EXEC))
		return false;
	return !guest_read(&sig, cs->abort_ip - SIG_SIZE, SIG_SIZE) && is_signature(sig);
}

/* By the code from the one on that loads the descriptor's address. */
static u64 setter(u64 pc, u64 start)
{
	u8 bytes[INSN_MAX];
	struct insn in;
	int len;

	for (u32 i = 0; i < SETTER_MAX && pc < start; i++, pc += (u64)len) {
		u64 n = MIN(start - pc, sizeof(bytes));

		len = guest_read(bytes, pc, n) ? 0 : isa_decode(bytes, n, &in);
		if (len <= 0)
			return 0;
		if (pc + (u64)len == start)
			return in.attr & ISA_STORE ? pc : 0;
	}
	return 0;
}

bool rseq_cs_learn(const struct insn *in, u64 pc)
{
	u64 addr = rseq_cs_address(in, pc);
	struct rseq_cs cs;

	if (likely(!addr) || !is_descriptor(addr, &cs))
		return false;
	for (u32 i = 0; i < dbt_rseq_cs_known; i++)
		if (sections[i].start == cs.start_ip && sections[i].end == cs.start_ip + cs.post_commit_offset)
			return false;
	if (dbt_rseq_cs_known == SECTIONS) {
		log_printf(1, "more than %u critical sections: the one at %#lx is not restarted", SECTIONS,
			   (u64)cs.start_ip);
		return false;
	}
	sections[dbt_rseq_cs_known] = (struct rseq_cs_range){
		.start = cs.start_ip,
		.end = cs.start_ip + cs.post_commit_offset,
		.desc = addr,
		.set_at = setter(pc + in->len, cs.start_ip),
	};
	__atomic_store_n(&dbt_rseq_cs_known, dbt_rseq_cs_known + 1, __ATOMIC_RELEASE);
	for (u64 at = ALIGN_DOWN(cs.start_ip, 64); at < cs.start_ip + cs.post_commit_offset; at += 64)
		__atomic_fetch_or(&filter[filter_bit(at) / 64], 1ul << filter_bit(at) % 64, __ATOMIC_RELEASE);
	return true;
}

void rseq_cs_forget_code(void)
{
	for (; nforgotten < dbt_rseq_cs_known; nforgotten++)
		dbt_forget_range(sections[nforgotten].start, sections[nforgotten].end);
}

u64 rseq_cs_emit_stop(void)
{
	rec_add(tr.b.insn[0].pc);
	emit_stop(EXIT_RSEQ_CS, tr.b.insn[0].pc, 0);
	cache.frag[tr.frag].stays = true;
	tr.insns++;
	return 0;
}

/* The kernel may read it at any moment: it never describes anything but the one piece of code or none. */
static void set_range(struct rseq_cs *range, u32 start, u32 end)
{
	check_slow(start <= end);
	__atomic_store_n(&range->post_commit_offset, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&range->start_ip, start, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&range->post_commit_offset, end - start, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * The entry of guarded code. Another thread may just have learned of the section: then it is about to forget other
 * code.
 */
static u32 find_guarded(struct cpu *cpu, struct dbt_fault *fault)
{
	u32 entry;

	for (;;) {
		entry = run_find(cpu, 0, false, fault);
		if (!entry || cache.frag[cache.entry[entry].frag].guard)
			return entry;
		lock_acquire(&dbt_lock);
		rseq_cs_forget_code();
		lock_release(&dbt_lock);
	}
}

int rseq_cs_enter(struct cpu *cpu, u32 want, struct dbt_fault *fault)
{
	struct rseq_cs *range = cpu->guard.range;
	const struct frag *f;
	u32 entry;
	int left;

	if (want != cpu->variant)
		run_set_variant(cpu, want);
	run_hold_cache(cpu);
	cpu->generation = __atomic_load_n(&cache.generation, __ATOMIC_ACQUIRE);
	entry = find_guarded(cpu, fault);
	if (!entry)
		return -1;
	f = &cache.frag[cache.entry[entry].frag];
	cpu->here.frag = 0;
	cpu->guard.aborted = 0;
	if (range)
		set_range(range, f->guard, f->guard_end);
	left = run_enter_at(cpu, cache.entry[entry].host);
	if (range)
		set_range(range, 0, 0);
	if (cpu->guard.aborted)
		counting_correct(cpu, f->variant, f->guard_rec);
	return left;
}
