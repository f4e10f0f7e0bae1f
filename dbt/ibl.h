/*
 * Indirect-branch lookup without leaving the cache.
 *
 * The branch has guest rcx and rdx in cpu->spill[0] and [1] and the guest target in rcx. It jumps through a table that
 * is indexed by the target's low 16 bits to a landing, which verifies the target without losing a flag (they are live
 * across indirect jumps in compilers' output), restores rcx and rdx and goes on with the entry. On a mismatch it
 * restores the target and jumps to the next landing with the same index, in the end to the miss code, which leaves for
 * the dispatcher.
 *
 * In sparse code the index begins with the top byte of the word that polls look at, 0xff before that is used up: then
 * the table, else the zeros behind it. A conditional branch for that would cost more than itself: processors predict
 * indirect branches by those before them, as far back as their history goes.
 */
#ifndef DBT_IBL_H
#define DBT_IBL_H

#include "dbt/cache.h"

/* cpu->no_match */
#define IBL_NO_MATCH (-(u64)IBL_SIZE)

struct landing {
	u32 at;	  /* cache address */
	u32 miss; /* cache address of the displacement of the mismatch jump */
};

/* Where a lookup that finds nothing goes: to the dispatcher. */
void ibl_emit_miss(struct emit *e);
/* From the dispatcher to the landing at cpu->poll_back, of cpu->rip. */
void ibl_emit_resume(struct emit *e);

/*
 * The lookup, at the end of an indirect branch. word: misses if the bank's word there is used up; 0: no matter what.
 * in_rdx: the word is in rdx, too.
 */
void ibl_emit_lookup(struct emit *e, const struct variant *v, s32 word, bool in_rdx);

/*
 * In front of a call that pushes `ret`: prefetches the table's entry of that address, for the return's lookup. Emits
 * nothing where there is little code: then the entries in use are in the processor's L1 cache anyway.
 */
void ibl_emit_prefetch(struct emit *e, const struct variant *v, u64 ret);

/*
 * A landing of the entry, to be of pc, that falls through to what is emitted next. The 4 bytes in front of it are the
 * entry's number. carry_dead: as carry_dead_at(pc) says.
 */
struct landing ibl_emit_landing(struct emit *e, u32 entry, u64 pc, bool carry_dead);

/*
 * What cache_find() finds, or 0: that will tell. From the first landing of its index, which lookups have just used as a
 * rule: so it is often in the processor's caches when the other table is not. Lock-free.
 */
u32 ibl_find(const struct variant *v, u64 pc);

/* Makes lookups of the entry's pc find it (with dbt_lock). */
void ibl_install(struct variant *v, u32 entry);
void ibl_remove(struct variant *v, u32 entry);

#endif
