/*
 * Pieces of translated code to be run for a number of instructions or cycles: copies of what a fragment already is,
 * which lead to the dispatcher at their end and by every branch out. So a thread is stopped anywhere without code made
 * for it. Only of variants that count and nothing else, CPU_WANT_SPARSE included: their fragments' exits are all in one
 * piece with them.
 */
#ifndef DBT_PIECE_H
#define DBT_PIECE_H

#include "dbt/cache.h"

/* Code of variants with other bits than these is not copied. */
#define PIECE_WANTS (CPU_WANT_BLOCKS | CPU_WANT_CYCLES | CPU_WANT_LIMITS | CPU_WANT_SPARSE | CPU_WANT_IN_POLLS)

/*
 * Makes the copy of what comes from record cpu->here.rec on, for the cpu's thread to enter at cpu->copy.at until
 * piece_done(): one instruction, and those that follow as long as all of them count no more than `most`, instructions
 * or quarter cycles. If it ends before its fragment does, that is in front of record cpu->copy.end, and it leaves by
 * exit 0 there; else copy.end is 0. False: there can be no copy.
 */
bool piece_make(struct cpu *cpu, enum cell cell, u64 most);
void piece_done(struct cpu *cpu);

/* The place in the fragment of a host address in the cpu's copy; others as they are. */
u64 piece_origin(const struct cpu *cpu, u64 host);

#endif
