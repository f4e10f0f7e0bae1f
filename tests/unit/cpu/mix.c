/* What spans that are counted by their mixes amount to: each cell's part of them, with the bank's other words. */
#include "cpu/bank.h"
#include "cpu/mix.h"
#include "tests/unit/unit.h"

static struct {
	struct cpu cpu;
	struct bank bank;
} own;

static void expect_cells(const u64 *count)
{
	for (enum cell c = 0; c < CELL_NR; c++) {
		expect_long(cpu_read_cell(&own.bank, c), count[c]);
		expect_long(cpu_own_count(&own.cpu, c), count[c]);
	}
}

/* So many spans of that mix were run. */
static void ran(u32 i, s64 times, const s16 *mix, u64 *count)
{
	own.bank.mixed[i] += (u64)times;
	for (enum cell c = 0; c < CELL_NR; c++) {
		own.bank.mix[c][i] = mix[c];
		count[c] += (u64)(times * mix[c]);
	}
}

int main(void)
{
	static const s16 call[CELL_NR] = {[CELL_INSTRUCTIONS] = 32, [CELL_BRANCHES] = 3, [CELL_COND] = 2,
					  [CELL_TAKEN] = 1, [CELL_CALLS] = 1, [CELL_LOADS] = 20, [CELL_STORES] = 12,
					  [CELL_CYCLES] = 300};
	static const s16 rest[CELL_NR] = {[CELL_INSTRUCTIONS] = 11, [CELL_BRANCHES] = 1, [CELL_TAKEN] = -1,
					  [CELL_COND] = 1, [CELL_LOADS] = 3};
	u64 count[CELL_NR] = {0};

	cpu_clear_bank(&own.cpu);
	ran(0, 1000, call, count);
	ran(CPU_MIXES - 1, -300, rest, count); /* taken back */
	own.bank.mixes = CPU_MIXES;
	own.bank.cell[CELL_LOADS] = 100;
	count[CELL_LOADS] += 100;
	own.bank.not_taken[1] = 2;
	own.bank.not_taken[3] = 4;
	count[CELL_TAKEN] -= 6;
	expect_cells(count);

	/* A number that there cannot be, as a hostile member may write it. */
	own.bank.mixes = ~0u;
	expect_cells(count);

	/* Another program goes on with the counts, and its words begin at 0. */
	own.bank.knows_mixes = 1;
	cpu_take_bank(&own.cpu);
	expect(!own.bank.knows_mixes && !own.bank.mixes && !own.bank.mixed[0] && !own.bank.mixed[CPU_MIXES - 1]);
	expect(!own.bank.not_taken[1]);
	expect_cells(count);
	return unit_result();
}
