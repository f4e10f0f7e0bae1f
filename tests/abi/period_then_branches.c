/*
 * A thread whose instructions are sampled opens an event of branches and closes it: this one counts as many as without
 * samples, and so do the instructions, meanwhile and afterwards.
 */
#include "tests/abi/errno/perf.h"

#define ROUNDS 100000

static int open_event(unsigned long config, unsigned long period)
{
	struct perf_attr a = perf_attr_sw(config);

	a.type = PERF_TYPE_HARDWARE;
	a.sample_period = period;
	return (int)perf_open(&a, 0, -1, -1, 0);
}

static long count_of(int fd)
{
	long count = 0;

	expect(read(fd, &count, sizeof(count)), (long)sizeof(count));
	return count;
}

/* Five instructions a round, four of them branches. */
static __attribute__((noinline)) void work(long rounds)
{
	__asm__ volatile("1:	dec	%0\n\t"
			 "jnz	2f\n\t"
			 "jmp	3f\n\t"
			 "2:	call	4f\n\t"
			 "jmp	1b\n\t"
			 "4:	ret\n\t"
			 "3:"
			 : "+r"(rounds)
			 :
			 : "cc", "memory");
}

/* instructions, branches while they are counted, instructions afterwards */
static void measure(unsigned long period, long count[3])
{
	int insns = open_event(PERF_COUNT_HW_INSTRUCTIONS, period), branches;
	long before;

	work(ROUNDS);
	before = count_of(insns);
	branches = open_event(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0);
	work(ROUNDS);
	count[1] = count_of(branches);
	close(branches);
	count[0] = count_of(insns) - before;
	work(ROUNDS);
	count[2] = count_of(insns) - before;
	close(insns);
}

int main(void)
{
	static const unsigned long periods[] = {1009, 50021, 1000003, 1000000007};
	int fd = open_event(PERF_COUNT_HW_INSTRUCTIONS, 0);
	long want[3], got[3];

	if (fd < 0) {
		printf("no hardware events here\n");
		return 77;
	}
	close(fd);
	measure(0, want);
	expect(want[1] >= 4L * ROUNDS - 2 && want[1] < 4L * ROUNDS + 100, 1);
	for (unsigned i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		measure(periods[i], got);
		for (int k = 0; k < 3; k++)
			expect(got[k], want[k]);
	}
	return failures != 0;
}
