/* What blocks of code that counts kinds amount to: each cell's part of them, with the bank's other words. */
#include "cpu/bank.h"
#include "cpu/ends.h"
#include "tests/unit/unit.h"

static struct {
	struct cpu cpu;
	struct bank bank;
} own;

/* What a block of each end is one of. */
static const enum cell is[CPU_ENDS][4] = {
	[CPU_END_SYSCALL] = {CELL_SYSCALLS},
	[CPU_END_COND] = {CELL_BRANCHES, CELL_COND, CELL_TAKEN},
	[CPU_END_JMP] = {CELL_BRANCHES, CELL_TAKEN},
	[CPU_END_CALL] = {CELL_BRANCHES, CELL_TAKEN, CELL_CALLS},
	[CPU_END_CALL_IND] = {CELL_BRANCHES, CELL_TAKEN, CELL_CALLS, CELL_INDIRECT},
	[CPU_END_JMP_IND] = {CELL_BRANCHES, CELL_TAKEN, CELL_INDIRECT},
	[CPU_END_RET] = {CELL_BRANCHES, CELL_TAKEN, CELL_RETURNS},
};

static void expect_cells(const u64 *count)
{
	for (enum cell c = 0; c < CELL_NR; c++) {
		expect_long(cpu_read_cell(&own.bank, c), count[c]);
		expect_long(cpu_own_count(&own.cpu, c), count[c]);
	}
}

int main(void)
{
	u64 count[CELL_NR] = {0};

	cpu_clear_bank(&own.cpu);
	own.bank.by_ends = 1;
	for (u32 e = 0; e < CPU_ENDS; e++) {
		own.bank.ends[e][e + 3] = 10 + e;
		count[CELL_INSTRUCTIONS] += (e + 4) * (10 + e);
		for (u32 i = 0; i < 4 && is[e][i]; i++)
			count[is[e][i]] += 10 + e;
	}
	own.bank.accesses[2][3] = 5;
	own.bank.accesses[7][0] = 1;
	own.bank.cell[CELL_LOADS] = 100; /* of blocks with more */
	count[CELL_LOADS] = 2 * 5 + 7 + 100;
	count[CELL_STORES] = 3 * 5;
	own.bank.not_taken[1] = 2;
	own.bank.not_taken[3] = 4;
	count[CELL_TAKEN] -= 6;
	expect_cells(count);

	/* Another program goes on with the counts, and its words begin at 0. */
	cpu_take_bank(&own.cpu);
	expect(!own.bank.by_ends && !own.bank.ends[CPU_END_RET][10] && !own.bank.not_taken[1]);
	expect_cells(count);
	return unit_result();
}
