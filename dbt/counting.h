/*
 * Which cells a block advances, by how much, and how far they are off in the middle of it.
 *
 * total[] is what the block adds at its one place; passed[] what the instructions so far have earned. Before the place a
 * cell lacks passed, after it it has total - passed too much.
 */
#ifndef DBT_COUNTING_H
#define DBT_COUNTING_H

#include "cpu/cpu.h"
#include "dbt/cache.h"
#include "isa/insn.h"

struct counting {
	u32 cells; /* bit per cell that is advanced */
	u32 flushed;
	s32 total[CELL_NR];
	s32 passed[CELL_NR];
};

void counting_begin(struct counting *c, u32 want);
void counting_total(struct counting *c, const struct insn *in);	 /* for each instruction of the block, first */
void counting_passed(struct counting *c, const struct insn *in); /* after each one is emitted */
void counting_delta(const struct counting *c, struct rec *r, struct rec_kinds *k);

static inline bool counting_any(const struct counting *c)
{
	return c->cells;
}

static inline bool counting_due(const struct counting *c, enum cell cell)
{
	return (c->cells >> cell & 1) && c->total[cell];
}

static inline void counting_flushed(struct counting *c, enum cell cell)
{
	c->flushed |= 1u << cell;
}

/* Adds n to a cell of the running thread without touching the flags. */
void counting_add_keeping_flags(struct emit *e, enum cell cell, s32 n);

#endif
