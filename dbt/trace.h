/*
 * The trace that is being translated, for the parts of the translator that emit it: dbt/translate.c decodes blocks and
 * puts them together, and the others emit what is in a block. All with dbt_lock held, so there is one.
 */
#ifndef DBT_TRACE_H
#define DBT_TRACE_H

#include "dbt/cache.h"
#include "dbt/counting.h"
#include "dbt/guest_code.h"
#include "isa/insn.h"

#define TRACE_BLOCKS 8u /* entries, and blocks of more than one instruction */
#define TRACE_BLOCKS_MAX CPU_BLOCK_INSNS
#define TRACE_INSNS 512u

struct guest_insn {
	struct insn in;
	u64 pc;
	u8 bytes[ISA_MAX_LEN];
};

/* A basic block of it. */
struct block {
	struct guest_insn *insn;
	u32 n;
	u32 units; /* see dbt/polls.h */
	u32 cycles; /* CELL_CYCLES */
	u32 distance; /* CPU_WANT_SPARSE: in front of it, from the last poll; see dbt/polls.h */
	u32 entry; /* 0: it has none */
	bool breaks; /* it begins with a breakpoint */
	bool stops; /* the code stops in front of it: it is in a critical section (dbt/rseq_cs.h) */
	bool guarded; /* CPU_WANT_ONE: it is in a critical section, and is executed */
	bool can_poll; /* CPU_WANT_SPARSE: it has a place for a poll where no flags are live */
	bool polls; /* CPU_WANT_SPARSE: it has a poll */
	bool late; /* that poll is made by the lookup of the indirect branch at its end */
	bool counts_late; /* its increments are made in front of that lookup */
	u64 next; /* where the trace may go on behind it, 0: nowhere */
	bool joins; /* it is counted with the block before it: their span's first block counts all of them */
	bool head_polls; /* CPU_WANT_IN_POLLS, and it joins: the poll of its span's first block is for it, too */
};

struct trace {
	struct guest_code code;
	struct emit e;
	u32 variant;
	u32 want; /* CPU_WANT_* of the variant */
	u32 out;  /* variant that its exits lead to: itself, but for CPU_WANT_FINE; NO_VARIANT: they are not linked */
	u32 fine; /* variant that goes on near a limit; NO_VARIANT: none */
	u32 frag;
	u64 base; /* pc of the fragment */
	u32 first_entry;
	u32 take_back; /* cache address of emit_take_back(), 0: none */
	u32 insns; /* so far */
	u32 before[TRACE_BLOCKS]; /* instructions in front of each entry */
	bool learned; /* decoding it has found a critical section, of which there may be code that does not know it */
	bool checked; /* its blocks compare the guest's bytes before they run */
	bool spans;   /* the variant counts blocks together */
	bool copied;  /* it is a loop, and not the first copy */
	bool dead_behind; /* no flags are live behind the loop */
	u32 distance; /* CPU_WANT_SPARSE: from the last poll; see dbt/polls.h */
	u32 turn; /* which of the bank's poll[] the block at hand adds to, in turns */

	/* What it is made of: all of it is known before any code is emitted. */
	struct block block[TRACE_BLOCKS_MAX];
	u32 nblock, at; /* how many; number of the one at hand */
	struct guest_insn insns_of[TRACE_INSNS + CPU_BLOCK_INSNS];

	struct block b; /* the one at hand */
	struct counting count; /* of its span */
	bool first; /* the next record is the first of an instruction */
	u8 *taken; /* displacement of the conditional branch that was just emitted, or NULL */
};

extern struct trace tr;

static inline u64 host_here(void)
{
	return code_host(tr.e.p);
}

/* dbt/plan.c */

/*
 * What the trace at pc is made of, with its entries. Returns false, and *fault, if its first instruction cannot be had.
 */
bool plan_trace(u64 pc, struct dbt_fault *fault);

/*
 * The code at pc may be looked at ahead of time. With CPU_WANT_TOUCH the thread stops in front of an instruction that
 * may reach into a page that it knows nothing of (dbt/run.c), so that the fault is there: no fragment looks at others.
 */
bool plan_may_look(u64 pc);

/* Handled by os/, which must find it alone at the start of a block, so that nothing is counted for it beforehand. */
bool stands_alone(const struct insn *in);

/* dbt/exits.c */

/* A boundary in front of the guest instruction at pc: everything before it is done, with the counts of tr.count. */
struct rec *rec_add(u64 pc);

/* The entry for pc that exits of this trace lead to, or 0. */
u32 find_entry(u64 pc);
/* One of the trace at hand, at tr.distance; and where it is: here. */
u32 entry_add(u64 pc);
void entry_place(u32 entry);

/* Makes the 4 bytes at `patch` lead to target; a jump there. */
void exit_add(u64 target, u8 *patch);
void emit_exit_jmp(u64 target);
/* The same to an entry, whatever its distance. */
void emit_entry_jmp(u32 entry);

/* Leaves, to go on at pc; `rec` makes the counts right there, 0: they are. Returns the exit. */
struct exit *emit_stop(enum exit_kind kind, u64 pc, u32 rec);

/* Code in the cold part that the displacement at `patch` leads to is emitted next, until cold_end(). */
struct emit cold_begin(u8 *patch);
void cold_end(struct emit hot);

/* dbt/place.c */

/*
 * Where the block's increments are made: before that instruction, or at its end; it polls: before one with no more than
 * CPU_POLL_FRONT in front of it. *safe: the status flags are dead there.
 */
u32 find_here(bool polls, bool *safe);

/* The status flags are dead at pc, and the code there cannot change unnoticed. */
bool flags_dead_at(u64 pc);
/* The same of CF alone. False where no landing asks for it. */
bool carry_dead_at(u64 pc);

/* The block is a loop of its own. */
bool is_loop(void);

/* It has a place for a poll where no flags are live. */
bool can_poll_cheaply(void);

/* Whether it is to poll; after block.can_poll is known. */
bool find_poll(void);

bool is_indirect_branch(u32 kind);

/*
 * The block at hand ends in an indirect branch in front of whose lookup it can be counted: a register is free there, so
 * no flags need be dead.
 */
bool can_count_late(void);

/* dbt/x86_64/emit_count.c */

/* The block's increments, at pc. */
void emit_counting(u64 pc, bool flags_dead);

/* The block's poll, at pc, for so many units; with CPU_WANT_IN_POLLS it counts the span. */
void emit_poll(u64 pc, u32 units, bool flags_dead);

/*
 * In front of the lookup that the block ends with, where rdx is free: its increments, if they are made there, and what
 * its poll adds. True: the poll's word is in rdx then.
 */
bool emit_late(void);

/* Where the word is that the poll of the block at hand looks at. */
s32 poll_word(void);

/* These n increments. */
void emit_increments(const struct increment *inc, u32 n, bool flags_dead);

/*
 * In front of what the exit leads to: what its EXIT_AHEAD takes back in the cold part. Returns the cache address; 0: it
 * has none, or flags are live.
 */
u32 emit_take_back(u32 exit);

/* The block stops in front of limits. */
bool stops_at_limits(void);

/* Behind a conditional branch that was expected to be taken. */
void emit_not_taken(const struct guest_insn *gi);

/*
 * Makes the displacement at `patch` leave because a word is used up, in front of pc. `spilled`: with rcx in spill[0].
 */
void limit_exit(u8 *patch, u64 pc, u32 rec, u8 undo, bool spilled);

/* dbt/x86_64/emit_flow.c */

/*
 * A conditional branch back to the start of its block, which is not taken: the block follows once more. Returns the
 * displacement for emit_loop_end(), when the branch is counted as passed; ahead: so many copies that follow are counted
 * already.
 */
u8 *emit_loop_on(const struct guest_insn *gi);
void emit_loop_end(const struct guest_insn *gi, u8 *patch, u32 ahead);

/* Where the conditional branch that was emitted last leads when it is taken, when it is counted as passed. */
void emit_taken(const struct guest_insn *gi);

/* What the instruction does. Returns where the trace may go on, or 0. */
u64 emit_insn(const struct guest_insn *gi);

/* dbt/x86_64/emit_check.c */

/* In front of a checked block: leaves by EXIT_STALE unless the guest's bytes are what was translated. */
void emit_check(void);

/* In front of an instruction that accesses memory, which may be watched. */
void emit_watch(const struct guest_insn *gi);

#endif
