/*
 * The code cache and the translator's tables: memory, records and their invariants. No policy.
 *
 *   fragment  one trace: host code in one piece, made from guest basic blocks that follow one another
 *   span      blocks of a trace that are counted together, by one increment in the first of them
 *   entry     the start of a span inside a fragment: a place that may be jumped to, registers in place and all counts
 *             up to date. Where nothing is counted, every block of a trace has its own entry.
 *   exit      one direct branch out of a fragment, with its guest target. Linked (jumps to the target's entry) or not
 *             (jumps to its stub, which leaves for the dispatcher).
 *   landing   verification in front of an entry for indirect branches, see dbt/x86_64/ibl.c
 *   rec       where one guest instruction starts in host code, and how far the counts are off there
 *
 * All tables are append-only and private to the process; indexes are u32, 0 is none. There are two halves of
 * everything: when one is full the other is begun afresh, once no thread can be inside it any more (dbt/flush.c).
 * Everything is written under dbt_lock; entries, fragments and records may be read without it once published (release
 * store to a table slot, or host code that runs). Cache addresses are 32-bit: the whole cache is below 4 GiB. They are
 * where code runs; pointers are where it is written (dbt/code_memory.h).
 */
#ifndef DBT_CACHE_H
#define DBT_CACHE_H

#include "abi/types.h"
#include "cpu/cpu.h"
#include "dbt/code_memory.h"
#include "dbt/emit.h"
#include "rt/lock.h"
#include "rt/reserve.h"

struct rec {
	s32 guest;	/* guest address - fragment's pc */
	u16 host;	/* offset in the fragment */
	s16 d_cycles;	/* what to add to the cells at this place to make them exact: quarter cycles, */
	s8 d_insns;	/* instructions, */
	s8 d_branches;	/* branches; the other kinds are in rec_kinds */
	u8 first : 1;	/* of the instruction's */
	u8 fix : 7;	/* where in the host code that follows a displacement is relative to rip; 0: nowhere */
	/* guest registers in cpu->spill[0] (low 4 bits) and [1] while the instruction runs; NO_SPILL: none */
	u8 spills;
};

#define REC_FIX_MAX 127u
#define NO_SPILL 15 /* which is never a scratch register */
#define SPILLS_NONE (NO_SPILL | NO_SPILL << 4)

/* Corrections of the cells from CELL_COND on; only in variants with CPU_WANT_KINDS. Same index as the rec. */
struct rec_kinds {
	s8 d[CELL_NR - CELL_COND];
};

struct frag {
	u64 pc;		    /* guest address of its first block */
	u32 host, host_end; /* cache addresses */
	u32 rec, nrec;
	u32 entry, nentry;
	u32 exit, nexit;
	u32 lookup;	    /* cache address of the lookup that it ends with, 0 none */
	u32 guard, guard_end, guard_rec; /* of an instruction in a critical section (dbt/rseq_cs.h); 0: it is in none */
	bool stays;	    /* it cannot be copied (dbt/piece.c) */
	u8 variant;	    /* index in cache.variant */
	u8 region;	    /* of an image: 1 + index in its header (dbt/warm.h) */
	bool dead;	    /* invalidated: unreachable, but a thread may still be inside */
	bool fixes;	    /* operands are relative to rip: rec.fix */
	bool poll;	    /* it is but a poll in front of an entry */
};

struct entry {
	u64 pc;
	u32 host;	  /* cache address */
	u32 frag : 24;
	u32 distance : 8; /* CPU_WANT_SPARSE: exits that lead here are to have no greater one (dbt/polls.h) */
	u32 rec;	  /* the first of the block */
	u32 exit : 24;	  /* the first in the block or behind it, of the fragment's */
	u32 insns : 8;	  /* from here to the fragment's end; ENTRY_LONG: too many to say; 0: frag.poll */
	u32 in;		  /* first exit that is linked to it */
	u32 landing;	  /* cache address, 0 none */
	u32 landing_miss; /* cache address of the displacement of its mismatch jump */
	u32 landing_next; /* entry tried after it */
	/* a poll in front of it, for exits with a greater distance, 0 none; of such a one, the next */
	u32 poll;
};

#define ENTRY_LONG 255u

enum exit_kind {
	EXIT_BRANCH,   /* goes on at target */
	EXIT_SYSCALL,  /* a syscall instruction ended at target */
	EXIT_SYSENTER, /* another system-call instruction is at target */
	EXIT_RDPMC,    /* an rdpmc instruction is at target */
	EXIT_CPUID,    /* a cpuid instruction is at target */
	EXIT_XGETBV,   /* an xgetbv instruction is at target */
	EXIT_RDTSC,    /* an rdtsc or rdtscp instruction is at target */
	EXIT_EMULATE,  /* an instruction that os/ does is at target: DBT_EMULATE */
	EXIT_POLL,     /* the block with target is counted, in CPU_WANT_SPARSE code: a limit may be near */
	EXIT_LIMIT,    /* the block at target would reach a limit, or may; nothing of it is done */
	EXIT_BREAK,    /* the instruction at target has a breakpoint */
	EXIT_RSEQ_CS,  /* the instruction at target is in a critical section (dbt/rseq_cs.h) */
	EXIT_WATCHED,  /* the instruction at target may access watched memory */
	EXIT_AHEAD, /* the branch out of a loop or a span whose rest is counted: it leads to where that is taken back
		       (exit.stub, in the cold part), and to the EXIT_BRANCH that is next. In pieces alone it is an
		       exit, and exit.rec takes back */
	EXIT_STALE, /* the code at target is no longer what the fragment was made from */
};

struct exit {
	u64 target;  /* guest address */
	u32 patch;   /* cache address of the 32-bit displacement, 0: none; EXIT_AHEAD and EXIT_POLL are never linked */
	u32 stub;    /* cache address, 0: not made yet */
	u32 linked;  /* entry that it jumps to, 0 none */
	union {
		u32 next_in; /* linked: next exit linked to the same entry */
		u32 rec;     /* never linked: makes the counts right where it stops, 0: they are */
	};
	u32 frag;
	/*
	 * enum exit_kind; only branches are ever linked, and limits that lead to code that goes on one instruction at a
	 * time
	 */
	u8 kind;
	u8 variant;
	union {
		u8 undo; /* EXIT_LIMIT: what of the countdowns is to be taken back (dbt/counting.c) */
		u8 dead; /* EXIT_AHEAD: no flags are live at target */
		u8 distance; /* EXIT_BRANCH: units since the last poll (dbt/polls.h) */
	};
	u8 turn; /* EXIT_AHEAD, CPU_WANT_IN_POLLS: the word that its span counts in */
};

struct code_page; /* dbt/code_pages.h */
struct page_node;

/*
 * Entries by pc: open addressing, at most half full. A slot is one u64, so that it can be read without a lock: the
 * entry in the low half, a part of the hash in the other; 0 is empty, SLOT_GONE was an entry. A table that gets too
 * full is replaced by one four times its size.
 */
struct table {
	u64 *slot;
	u32 mask; /* slots - 1 */
	u32 used; /* with those that are gone */
};

#define TABLE_SIZES 5
#define TABLE_FIRST 8192u
#define SLOT_GONE (1ul << 32)

/*
 * One set of translations: all code with the same instrumentation. Each half of the cache has its own, numbered in the
 * order in which they were first wanted; when all are taken the cache is begun afresh. Never changed once it is counted
 * in cache.nvariant.
 */
struct variant {
	u32 want;    /* CPU_WANT_* */
	u32 level;   /* table in use */
	/*
	 * indirect-branch lookup: landing address - miss, by the low 16 bits of the target; 0 is a miss. As much again
	 * is always 0
	 */
	u32 *ibl;
	bool ready;  /* ibl can be written */
	bool begun;  /* code of it is used: ibl has its memory, and the landings of what an image has for it */
	u32 levels;  /* and so many of table[] */
	struct table table[TABLE_SIZES];
};

#define VARIANTS 16u /* of one half */
#define NO_VARIANT (~0u)

#define COPIES_SIZE 0x400000ul
#define IBL_SIZE 65536u

/* What a half has of its own, and fills from the start on. */
enum { OF_HOT, OF_COLD, OF_FRAGS, OF_ENTRIES, OF_EXITS, OF_RECS, OF_KINDS, OF_NODES, OF_HALF };

/* Where a half is: it moves only while nobody is inside (cache_move_half()). */
struct half_place {
	u64 start, end;	   /* all of it: tables of indirect branches come first */
	u64 hot, cold;	   /* where code and stubs begin; where they run, as the next: */
	u8 *copies;	   /* COPIES_SIZE bytes for dbt/piece.c */
	const u8 *miss;	   /* where a lookup that finds nothing goes; below all landings of the half */
	const u8 *lookup;  /* from the dispatcher to the landing at cpu->poll_back, of cpu->rip */
};

struct cache {
	struct half_place place[2];
	const u8 *miss;	     /* of the half in use */
	u8 *hot;	     /* next free byte of fragments and landings */
	u8 *cold;	     /* next free byte of exit stubs and constants */
	struct reserve of[2][OF_HALF], pages;
	u8 *warm;	     /* for dbt/warm.c */
	struct frag *frag;
	struct entry *entry;
	struct exit *exit;
	struct rec *rec;
	struct rec_kinds *kinds;
	struct code_page *page;
	struct page_node *node;
	u32 *page_hash;
	u32 nfrag, nentry, nexit, nrec, npage, nnode; /* next free index of each */
	u32 half;	     /* which one is being filled */
	u32 first_frag;	     /* of this half */
	u32 ndead;	     /* fragments of it that were forgotten */
	/* For signal handlers, which take no lock, while a half is begun or goes to another place: */
	u32 nfrag_of[2];     /* nfrag, also of the half that is full */
	u64 code[2];	     /* where each one's code is: start | end << 32 */

	bool has_protected;  /* a page of the guest's is protected from writing, or was */
	bool touches_ahead;  /* see dbt_touch_ahead() */
	bool huge[2];	     /* the kernel was asked for huge pages for it */
	/* to be left before more is made: no memory for a larger table of a variant of this half; or cache_mend() */
	bool full;
	u32 next_half;	     /* 1 + the half that is being begun, 0: none is */
	u32 epoch;	     /* rises with each switch */
	u32 generation;	     /* rises when entries have gone: what was found before is to be looked up again */
	u32 nvariant[2];     /* used by each half */
	struct variant variant[2 * VARIANTS];
};

extern struct cache cache;
extern struct lock dbt_lock; /* RANK_DBT */
void cache_unlock(void);     /* releases it; what was written meanwhile can run */

int cache_init(void);			       /* 0 or -errno */
void cache_switch_half(void);		       /* with dbt_lock, and nobody in the other half */
/* with dbt_lock, in the child of a fork: nothing is translated, if the code is in shared memory */
void cache_renew(void);
/* Nobody has translated anything yet. */
bool cache_is_new(void);
/* See dbt_mend(). */
void cache_mend(void);
/*
 * The half, which nobody is inside of, and in which nothing is if it is the one in use, is at [start, start + size)
 * from now on. With dbt_lock. 0 or -errno: it is where it was.
 */
int cache_move_half(u32 half, u64 start, u64 size);
/* The place of the half that the variant is of. */
const struct half_place *cache_place_of(const struct variant *v);
void cache_end(void) __attribute__((noreturn)); /* nothing can be translated any more: the process is killed */
bool cache_has_room(void);		       /* for one more fragment of the largest size */
/*
 * Three quarters of the half in use are dead, and they are many: it is better left before it is full. What is alive is
 * translated again then, but that is little beside what was translated for what is dead.
 */
bool cache_is_waste(void);

/*
 * Makes private memory of the cache's read-only, about so many bytes: they no longer count for RLIMIT_DATA. False: it
 * has no more. With dbt_lock.
 */
bool cache_give_up(u64 bytes);

/* The variant with that instrumentation in the half in use, or NO_VARIANT. Lock-free. */
u32 cache_variant(u32 want);
/* The same, made and begun if need be; NO_VARIANT: all are taken. With dbt_lock. */
u32 cache_variant_get(u32 want);

/* For the lookup tables of an image: a slot's hash, by pc, and what the slot of an entry holds. */
u64 cache_hash(u64 pc);
u64 cache_slot(u64 hash, u32 entry);

/* The entry for pc, or 0. Lock-free. */
u32 cache_find(const struct variant *v, u64 pc);
/* Those below n are complete. With dbt_lock. */
void cache_frags_are(u32 n);
void cache_publish(struct variant *v, u32 entry); /* with dbt_lock, as unpublish */
void cache_unpublish(struct variant *v, u32 entry);

/* The fragment that holds host address `host`, or 0. Lock-free. */
u32 cache_frag_at(u64 host);
#define FRAG_MAX_BYTES 49152u /* a fragment is ended before it is larger */
#define FRAG_MAX_RECS 4096u
#define FRAG_MAX_EXITS 768u
bool cache_contains(u64 host); /* in the cache at all */

/*
 * The record of the guest instruction at host address `host` of fragment f: the last one that begins at or before it.
 */
u32 cache_rec_at(const struct frag *f, u64 host);

/* Exits. cache_exit_new() leaves the displacement at `patch` to a stub; cache_exit_link() points it to an entry. */
u32 cache_exit_new(enum exit_kind kind, u32 frag, u32 variant, u64 target, u8 *patch);
void cache_exit_link(u32 exit, u32 entry);
void cache_exit_unlink(u32 exit);
/* It is linked. Its EXIT_AHEAD leads to that cache address from now on, where the same is taken back. */
void cache_exit_shorten(u32 exit, u32 take_back);
/* What leaves by the exit: at most 20 bytes. */
void cache_emit_stub(struct emit *e, u32 exit);
/* The exit that a stub is of; anything if that is none. */
u32 cache_stub_exit(u64 stub);

/* A constant that code can reach relative to rip; equal ones may be shared. */
u8 *cache_const64(u64 value);

#endif
