/*
 * Which pages an instruction's accesses touch, in the order in which that happens, given by isa_accesses(): for page
 * faults. No state.
 */
#ifndef PERF_TOUCHED_H
#define PERF_TOUCHED_H

#include "isa/address.h"

/* One page. */
struct touch {
	gva addr;  /* the first byte of it that is accessed, as a fault reports it */
	u64 round; /* of a string instruction with rep; else 0 */
	bool write;
	bool fetch; /* of the instruction itself */
};

struct touches {
	const struct isa_access *access;
	int accesses;
	u64 rounds; /* later ones are left out */
	u64 next[ISA_ACCESSES];
};

static inline struct touches touches_of(const struct isa_access *access, int accesses, u64 rounds)
{
	return (struct touches){.access = access, .accesses = accesses, .rounds = rounds};
}

/* False: there are no more. */
bool touches_next(struct touches *w, struct touch *out);

/* The processor's error code, if there was such a page. */
u64 touch_error_code(const struct touch *p, bool present);

#endif
