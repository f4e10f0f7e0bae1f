/*
 * From guest code to fragments.
 *
 * A fragment is a trace: the basic block at pc, then the block that follows a not-taken conditional branch, a direct
 * jump or a direct call, and so on, until an indirect branch, a system call, an entry that exists already, or a limit.
 *
 * Counting: the blocks of a trace are counted in spans (dbt/plan.c). The first block of a span adds the numbers of all
 * of its blocks at one place, if possible where no status flag is live (dbt/place.c). The recs tell how far the cells
 * are off at every other place. Where spans are off, each block is one.
 *
 * Entries: a block that begins a span gets one, unless its address has one already. The other blocks have none: what
 * leads to them gets a trace of its own.
 */
#ifndef DBT_TRANSLATE_H
#define DBT_TRANSLATE_H

#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "dbt/probe.h"

/* Whether calls prefetch their returns' table entries: see ibl_emit_prefetch(). */
enum prefetch_returns { PREFETCH_IN_MUCH_CODE, PREFETCH_NEVER, PREFETCH_ALWAYS };

struct dbt_options {
	bool no_traces; /* one basic block per fragment */
	bool no_links;	/* every direct branch goes through the dispatcher */
	bool no_ibl;	/* every indirect branch goes through the dispatcher */
	bool no_spans; /* each block is counted by itself */
	bool no_unroll; /* a loop of one block is there once */
	bool no_liveness; /* the flags are kept around all increments */
	bool no_approach; /* dbt/approach.c is not used */
	bool no_siblings; /* dbt/siblings.c is not used */
	u32 dump; /* DUMP_*, dbt/dump.h */
	u64 dump_at; /* only of fragments with the instruction there; 0: of all */
	bool stop_at_tsc; /* rdtsc and rdtscp are the caller's to execute: DBT_RDTSC */
	u32 always;	/* CPU_WANT_* that all threads' code has, whatever the drivers want */
	bool one_insn;	/* one instruction per basic block */
	enum landing_form landing;
	enum prefetch_returns prefetch;
	bool bswap_is_fast; /* lookups that poll use it (dbt/x86_64/ibl.c) */
	bool small_cache; /* full after 256 KiB of code */
	bool dual_map;	/* dbt/code_memory.h: two mappings, always */
};
extern struct dbt_options dbt_options;

/*
 * Translates at pc for the given variant (of the half in use), with dbt_lock held and cache_has_room(); `indirect`:
 * because an indirect branch goes there, so with a landing in front; exit: the one that leads there, or 0. Returns the
 * entry, or 0 and *fault when not even one instruction can be fetched and decoded.
 */
u32 translate(u32 variant, u64 pc, u32 exit, bool indirect, struct dbt_fault *fault);

/*
 * Makes a fragment that is only a poll in front of the entry, for exits of up to that distance (dbt/polls.h), and
 * returns its entry. With dbt_lock held and cache_has_room(). Lookups do not find it.
 */
u32 translate_poll(u32 variant, u32 entry, u32 distance);

/*
 * Whether the code at the entry, which exists, sets CF before it reads it. From a yes on, the entry's fragment also
 * depends on the bytes that were looked at: it is dropped when they change.
 */
bool translate_carry_dead(u32 entry);

/* The exit was linked to what was just made for it: its EXIT_AHEAD need not lead there by the cold part. */
void translate_shorten(u32 exit);

#endif
