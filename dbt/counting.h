/*
 * Which cells a span advances, by how much, and how far they are off in the middle of it.
 *
 * total[] is what the span adds at its one place; passed[] is what its instructions up to here count for. In front of
 * the place a cell has passed[] too little, behind it total[] - passed[] too much.
 */
#ifndef DBT_COUNTING_H
#define DBT_COUNTING_H

#include "cpu/cpu.h"
#include "dbt/cache.h"
#include "isa/insn.h"

struct counting {
	u32 want;  /* CPU_WANT_* */
	u32 cells; /* bit per cell that is advanced */
	u32 made; /* bit per cell whose increment has been emitted; behind these, countdowns: COUNTDOWN_BIT() */
	u32 times; /* so many copies of the block are counted at once: total[] is of all of them */
	bool polls; /* CPU_WANT_IN_POLLS: the increment is the poll's, counting_poll() */
	u32 turn; /* CPU_WANT_IN_POLLS: in which of the words it counts, */
	u32 units; /* and so many units besides, for the poll that the span has; 0: it has none */
	s32 total[CELL_NR];
	s32 passed[CELL_NR];
};

void counting_begin(struct counting *c, u32 want, u32 turn);
/*
 * For each instruction of the block, first; and after each one is emitted. `inner`: its block is not the span's last,
 * so that a conditional branch is expected to be not taken. At a span's end it is expected to be taken, where that
 * matters.
 */
void counting_total(struct counting *c, const struct insn *in, bool inner);
void counting_passed(struct counting *c, const struct insn *in, bool inner);
/* Behind a conditional branch that was counted as taken, and is not: counting_delta() says what to correct. */
void counting_not_taken(struct counting *c);
/* It went the other way: so many taken branches more have passed. */
static inline void counting_turned(struct counting *c, s32 taken)
{
	c->passed[CELL_TAKEN] += taken;
}
void counting_delta(const struct counting *c, struct rec *r, struct rec_kinds *k);

/* Translated code was left at the record's place: makes the counts right. */
void counting_correct(struct cpu *cpu, u32 variant, u32 rec);
/* It is to be entered at the record's place: as translated code has them there. */
void counting_resume(struct cpu *cpu, u32 variant, u32 rec);

/* By how much the block has advanced the countdown of instructions or of branches: to be taken back if it stops. */
s32 counting_counted_down(const struct counting *c, enum cell cell);
/* Both of them as exit.undo, for counting_undo(). */
u8 counting_exit_undo(const struct counting *c);
/* Translated code was left by an EXIT_LIMIT: makes the counts right. */
void counting_undo(struct cpu *cpu, const struct exit *x);

static inline bool counting_any(const struct counting *c)
{
	return c->cells;
}

/* An increment of struct cpu that the block has to make. */
struct increment {
	u32 cells; /* bit per cell that is right afterwards */
	s32 disp, n; /* where, how much */
	bool tested; /* the word runs up to a limit */
	bool down; /* it is a countdown */
};

/* The next one; false: no more. */
bool counting_next(const struct counting *c, struct increment *out);

/* CPU_WANT_IN_POLLS: the one that is left for the poll. Of units alone, if there is nothing to be counted. */
struct increment counting_poll(const struct counting *c);

static inline void counting_made(struct counting *c, const struct increment *inc)
{
	c->made |= inc->cells;
}

/*
 * The block follows itself in the same code: an unrolled loop, whose copies are all counted in the first one.
 * can_be_ahead: the variant can do that. ahead: the block is the first one, `more` copies follow. was_ahead: it is a
 * later one.
 */
bool counting_can_be_ahead(const struct counting *c);
void counting_ahead(struct counting *c, u32 more);
void counting_was_ahead(struct counting *c, u32 more);

/* Where code of these CPU_WANT_* adds to CELL_CYCLES: another of its words each time. With dbt_lock. */
s32 counting_cycles_at(u32 want);

/* What is not passed yet of the blocks that are counted at once. */
static inline s32 counting_rest(const struct counting *c, enum cell cell)
{
	return c->total[cell] - c->passed[cell];
}

/*
 * The increments that take back what is counted ahead. Returns how many they are. copies: of a loop; 0: the rest of a
 * span. counting_back_at(): the same at that record's place, in code of these CPU_WANT_* with that turn; 0: no
 * increments can do it.
 */
#define COUNTING_BACK (CELL_NR + 1)
u32 counting_back(const struct counting *c, u32 copies, struct increment out[COUNTING_BACK]);
u32 counting_back_at(u32 want, u32 rec, u32 turn, struct increment out[COUNTING_BACK]);

#endif
