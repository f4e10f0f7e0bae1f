/* See dbt/guest_code.h. */
#include "dbt/guest_code.h"
#include <linux/mman.h>
#include <linux/signal.h>
#include "dbt/code_pages.h"
#include "dbt/dbt.h"
#include "isa/insn.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/stress.h"
#include "rt/sys.h"

#define ALIASES_MAX 4u /* of a page, which others may write to */

void guest_code_begin(struct guest_code *g)
{
	g->start = g->end = 0;
	g->map_start = g->map_end = 0;
	g->npages = 0;
	g->checked = false;
}

/* The guest cannot write to the page; false: nor could that be had. */
static bool protect(struct code_page *p)
{
	cache.has_protected = true;
	if (!p->protected_)
		p->protected_ = !sys3(__NR_mprotect, p->page, PAGE_SIZE, PROT_READ);
	return p->protected_;
}

/* The same at all other addresses of the page, which are registered. */
static bool protect_aliases(struct code_page *p)
{
	struct dbt_mapping m;
	u32 n = 0;

	for (gva at = 0; !p->aliased && (at = dbt_host_alias(p->page, at));) {
		if (at == p->page || dbt_host_mapping(at, &m) || !(m.prot & PROT_WRITE))
			continue;
		if (m.sealed || ++n > ALIASES_MAX || !protect(cache_page(at, true)))
			return false;
	}
	p->aliased = true;
	return true;
}

/*
 * The guest would have touched its code first: that is no work of ours. Where memory is touched ahead this is outside
 * such work already, and goes below it, which changes nothing.
 */
static void touch(u64 page)
{
	u8 byte;

	dbt_host_own_work(false);
	guest_read(&byte, page, sizeof(byte));
	dbt_host_own_work(true);
}

/* Whether the page may be executed; registers it. */
static bool use_page(struct guest_code *g, u64 page, struct dbt_fault *fault)
{
	struct code_page *p;

	if (page < g->map_start || page >= g->map_end) {
		struct dbt_mapping m;

		*fault = (struct dbt_fault){SIGSEGV, SEGV_MAPERR, page};
		if (dbt_host_mapping(page, &m) < 0)
			return false;
		fault->code = SEGV_ACCERR;
		if (!(m.prot & PROT_EXEC))
			return false;
		g->map_start = m.start;
		g->map_end = m.end;
		g->map_writable = m.prot & PROT_WRITE;
		g->map_shared = m.shared;
		g->map_sealed = m.sealed;
		g->map_own = m.own;
	}
	for (u32 i = g->npages; i-- > 0;)
		if (g->pages[i] == page)
			return true;
	if (g->npages == ARRAY_SIZE(g->pages)) {
		*fault = (struct dbt_fault){0};
		return false;
	}
	if (!cache_page(page, false))
		touch(page);
	p = cache_page(page, true);
	/*
	 * What is mapped shared may be written by another process, or at more addresses than can be protected; what is
	 * sealed cannot be protected.
	 */
	if ((g->map_shared && !(g->map_own && protect_aliases(p))) || (g->map_sealed && g->map_writable) ||
	    p->writes >= CHECK_AFTER_WRITES || stress(STRESS_CHECKED))
		p->checked = true;
	if (g->map_writable && !p->checked && !p->protected_ && (dbt_host_kernel_writes(page) || !protect(p)))
		p->checked = true;
	g->checked |= p->checked;
	check_slow(lock_held(RANK_DBT) && !(page % PAGE_SIZE));
	g->pages[g->npages++] = page;
	return true;
}

/*
 * Why a page that was mapped a moment ago could not be read: there is nothing behind it (the end of a file), it is a
 * guard (MADV_GUARD_INSTALL), or it had gone.
 */
static struct dbt_fault unreadable(u64 page)
{
	struct dbt_mapping m;
	struct dbt_fault fault = {0};

	if (!dbt_host_mapping(page, &m))
		fault = dbt_host_read_fault(page);
	return fault.signo ? fault : (struct dbt_fault){SIGSEGV, SEGV_MAPERR, page};
}

/*
 * How many bytes of the code at pc there are at *bytes, at most ISA_MAX_LEN; not those of the next page if it is not to
 * be looked at, or cannot be executed: then *fault is about its first byte.
 */
static size_t read_code(struct guest_code *g, u64 pc, bool next_page, const u8 **bytes, struct dbt_fault *fault)
{
	u64 end = pc + ISA_MAX_LEN;
	u64 page = ALIGN_DOWN(pc, PAGE_SIZE);

	if (!use_page(g, page, fault)) {
		fault->addr = pc;
		return 0;
	}
	if (pc >= g->start && end <= g->end) {
		*bytes = g->bytes + (pc - g->start);
		return ISA_MAX_LEN;
	}
	if (end > page + PAGE_SIZE && !next_page)
		end = page + PAGE_SIZE;
	else if (end > page + PAGE_SIZE && !use_page(g, page + PAGE_SIZE, fault))
		end = page + PAGE_SIZE;
	else
		end = MAX(end, MIN(pc + CODE_WINDOW, page + PAGE_SIZE));
	g->start = g->end = pc;
	if (guest_read(g->bytes, pc, end - pc) < 0) {
		u64 first = MIN(end, page + PAGE_SIZE);

		/* The second page may have gone meanwhile, and nobody may want it. */
		*fault = (struct dbt_fault){SIGSEGV, SEGV_MAPERR, page + PAGE_SIZE};
		if (first == end || guest_read(g->bytes, pc, first - pc) < 0) {
			*fault = unreadable(page);
			fault->addr = pc;
			return 0;
		}
		end = first;
	}
	check(end > pc && end - pc <= sizeof(g->bytes));
	g->end = end;
	*bytes = g->bytes;
	return MIN(end - pc, (u64)ISA_MAX_LEN);
}

int guest_code_insn(struct guest_code *g, u64 pc, struct insn *in, const u8 **bytes, struct dbt_fault *fault)
{
	size_t n = read_code(g, pc, false, bytes, fault);
	int len = n ? isa_decode(*bytes, n, in) : -1;

	if (len >= 0 || !n || n == ISA_MAX_LEN)
		return len;
	n = read_code(g, pc, true, bytes, fault);
	return n ? isa_decode(*bytes, n, in) : -1;
}

void guest_code_commit(struct guest_code *g, u32 frag)
{
	for (u32 i = 0; i < g->npages; i++)
		cache_page_add(cache_page(g->pages[i], true), frag);
}
