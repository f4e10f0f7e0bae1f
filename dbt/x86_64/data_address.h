/*
 * The addresses of an instruction's data accesses, computed in front of it in translated code: for watched data
 * (watch.h) and touched pages (touch.h). Their code spills rax and rcx, and keeps the flags: the instruction may fault,
 * or be sampled.
 */
#ifndef DBT_X86_64_DATA_ADDRESS_H
#define DBT_X86_64_DATA_ADDRESS_H

#include "dbt/emit.h"
#include "isa/insn.h"

#define DATA_WIDEST 64 /* bytes of an access whose address is computed; os/ sets watch_lo for it */

/* In terms of registers at the start of the instruction. */
struct data_address {
	u8 base, index; /* 0xff: none */
	u8 shift;
	u8 seg;
	bool narrow;	/* 32-bit */
	bool write;	/* read only: false */
	u8 size;	/* bytes, or a few more */
	s64 disp;
};

bool data_address_wanted(const struct insn *in);

/* The accesses' lowest addresses, or less by up to 8. 0: they are not that simple. */
u32 data_addresses(const struct insn *in, u64 pc, struct data_address out[2]);

/* To rcx, from the guest's registers; the stolen one's value comes into a scratch register (rax or rcx) first. */
void data_address_emit(struct emit *e, const struct data_address *a);

/* To rax and back from there. */
void data_save_flags(struct emit *e);
void data_restore_flags(struct emit *e);

/* rax and rcx, from cpu->spill[0] and [1]. */
void data_take_back(struct emit *e);

#endif
