/* See dbt/counting.h. */
#include "dbt/counting.h"

void counting_begin(struct counting *c, u32 want)
{
	*c = (struct counting){0};
	for (enum cell i = 0; i < CELL_NR; i++)
		if (want & cpu_want_bit(i))
			c->cells |= 1u << i;
}

/* What one instruction adds to each cell when it completes. A conditional branch adds to CELL_TAKEN where it jumps. */
static void earn(s32 *v, const struct insn *in)
{
	v[CELL_INSTRUCTIONS]++;
	v[CELL_CYCLES] += in->weight;
	v[CELL_LOADS] += !!(in->attr & ISA_LOAD);
	v[CELL_STORES] += !!(in->attr & ISA_STORE);
	switch (in->kind) {
	case ISA_JCC:
	case ISA_LOOP:
		v[CELL_BRANCHES]++;
		v[CELL_COND]++;
		break;
	case ISA_CALL_IND:
		v[CELL_INDIRECT]++;
		/* fall through */
	case ISA_CALL:
		v[CELL_CALLS]++;
		v[CELL_BRANCHES]++;
		v[CELL_TAKEN]++;
		break;
	case ISA_RET:
		v[CELL_RETURNS]++;
		v[CELL_BRANCHES]++;
		v[CELL_TAKEN]++;
		break;
	case ISA_JMP_IND:
		v[CELL_INDIRECT]++;
		/* fall through */
	case ISA_JMP:
		v[CELL_BRANCHES]++;
		v[CELL_TAKEN]++;
		break;
	case ISA_SYSCALL:
		v[CELL_SYSCALLS]++;
		break;
	default:
		break;
	}
}

void counting_total(struct counting *c, const struct insn *in)
{
	if (c->cells)
		earn(c->total, in);
}

void counting_passed(struct counting *c, const struct insn *in)
{
	if (c->cells)
		earn(c->passed, in);
}

static s32 delta(const struct counting *c, enum cell cell)
{
	if (!(c->cells >> cell & 1))
		return 0;
	return c->passed[cell] - (c->flushed >> cell & 1 ? c->total[cell] : 0);
}

void counting_delta(const struct counting *c, struct rec *r, struct rec_kinds *k)
{
	if (!c->cells)
		return;
	r->d_insns = (s16)delta(c, CELL_INSTRUCTIONS);
	r->d_branches = (s8)delta(c, CELL_BRANCHES);
	r->d_cycles = (s16)delta(c, CELL_CYCLES);
	if (k)
		for (enum cell i = CELL_COND; i < CELL_NR; i++)
			k->d[i - CELL_COND] = (s8)delta(c, i);
}

/* The cells that blocks[] stands for. */
#define BLOCK_CELLS (1u << CELL_INSTRUCTIONS | 1u << CELL_BRANCHES)

bool counting_next(const struct counting *c, struct increment *out)
{
	for (enum cell cell = 0; cell < CELL_NR; cell++) {
		u32 bit = 1u << cell;

		if (!(c->cells & bit) || (c->flushed & bit) || !c->total[cell])
			continue;
		if (bit & BLOCK_CELLS) {
			u32 row = c->total[CELL_BRANCHES] ? 0 : 1;

			*out = (struct increment){.cells = BLOCK_CELLS, .n = 1};
			out->disp = (s32)cpu_blocks_offset(row, (u32)c->total[CELL_INSTRUCTIONS]);
		} else {
			*out = (struct increment){.cells = bit, .n = c->total[cell]};
			out->disp = (s32)cpu_cell_offset(cell);
		}
		return true;
	}
	return false;
}

void counting_add_keeping_flags(struct emit *e, s32 disp, s32 n)
{
	emit_store_cpu(e, RCX, offsetof(struct cpu, spill[0]));
	emit_load_cpu(e, RCX, disp);
	emit_lea_self(e, RCX, n);
	emit_store_cpu(e, RCX, disp);
	emit_load_cpu(e, RCX, offsetof(struct cpu, spill[0]));
}
