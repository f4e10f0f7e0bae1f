/*
 * The counter bank's limits, with the translator played by the test: whatever mixture of blocks runs, no limit is
 * passed and it takes few stops to get there; counts are right at any time, also while they change and after the
 * owner's death in the middle.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cpu/bank.h"
#include "tests/unit/unit.h"

static u64 seed = 1;

static u32 random_below(u32 n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (u32)(seed >> 33) % n;
}

/* A mixture of blocks: `kinds` of them, in phases in which one is as likely as all others together. */
struct mixture {
	u32 kinds, phase, left;
	u32 row[64], n[64]; /* branches and instructions */
};

static struct mixture mixture_of(u32 kinds, u32 phase)
{
	struct mixture m = {.kinds = kinds, .phase = phase};

	for (u32 i = 0; i < kinds; i++) {
		m.row[i] = random_below(3) != 0;
		m.n[i] = 1 + random_below(random_below(4) ? 8 : CPU_BLOCK_INSNS);
	}
	return m;
}

static u32 mixture_next(struct mixture *m)
{
	if (!m->left--) {
		u32 other = random_below(m->kinds), row = m->row[0], n = m->n[0];

		m->row[0] = m->row[other], m->n[0] = m->n[other];
		m->row[other] = row, m->n[other] = n;
		m->left = m->phase;
	}
	return random_below(2) ? 0 : random_below(m->kinds);
}

/* A thread, and its page of shared memory. */
struct both {
	struct cpu cpu;
	struct bank bank;
};

static struct both own;
static u64 exits;
static u32 distance; /* since the last poll */

static bool add(u64 *word, u64 n)
{
	__atomic_store_n(word, *word + n, __ATOMIC_RELAXED);
	return (s64)*word >= 0;
}

/*
 * A block of sparse code, which polls where it must and now and then. False: limits are to be renewed in front of it.
 */
static bool run_sparse(struct cpu *cpu, u32 row, u32 n)
{
	bool polls = distance + n > CPU_POLL_UNITS || random_below(8) == 0;

	u64 *word = &cpu_bank(cpu)->poll[random_below(CPU_POLL_WORDS)];

	if (cpu->limits.want & CPU_WANT_IN_POLLS) {
		add(word, n);
		add(&cpu_bank(cpu)->cell[CELL_BRANCHES], row);
	} else {
		add(&cpu_bank(cpu)->blocks[cpu_row(row)][n - 1], 1);
	}
	distance += n;
	if (!polls)
		return true;
	/* Other ways there may be longer. */
	distance += random_below(2) * random_below(CPU_POLL_UNITS + CPU_BLOCK_INSNS + 1 - distance);
	add(word, distance * CPU_POLL_UNIT);
	distance = 0;
	if (!cpu_poll_stops(cpu))
		return true;
	exits++;
	if (cpu_poll_on(cpu))
		return true;
	cpu_bank(cpu)->cell[CELL_INSTRUCTIONS] -= n;
	cpu_bank(cpu)->cell[CELL_BRANCHES] -= row;
	cpu->limits.summed = 0;
	cpu->limits.stale = 1;
	return false;
}

/* As the code of a CPU_WANT_LIMITS variant. False: it stopped in front of the block, for a limit in it. */
static bool run_block(struct cpu *cpu, u32 row, u32 n)
{
	for (;;) {
		bool near;

		if (cpu->limits.renew | cpu->limits.stale)
			cpu_renew_limits(cpu);
		if (cpu->limits.approaching) {
			if (cpu_approach_left(cpu) <= n)
				return false;
			cpu->limits.stale = 1;
		} else if (cpu->limits.want & CPU_WANT_SPARSE) {
			if (run_sparse(cpu, row, n))
				return true;
			continue;
		}
		near = (cpu->limits.want & CPU_WANT_COUNTDOWN) &&
		       add((u64 *)&cpu->limits.countdown[CELL_INSTRUCTIONS], n);
		near |= (cpu->limits.want & CPU_WANT_COUNTDOWN_BRANCHES) && row &&
			add((u64 *)&cpu->limits.countdown[CELL_BRANCHES], 1);
		if (near) {
			cpu->limits.countdown[CELL_INSTRUCTIONS] -= n;
			cpu->limits.countdown[CELL_BRANCHES] -= row;
			return false;
		}
		add(&cpu_bank(cpu)->blocks[cpu_row(row)][n - 1], 1);
		return true;
	}
}

/* CPU_NO_LIMIT: none. */
static bool can_approach;
static u32 counts = CPU_WANT_BLOCKS;

static void set_limits(struct cpu *cpu, const u64 left[CELL_NR])
{
	u32 limited = 0;

	for (enum cell c = 0; c < CELL_NR; c++)
		limited |= (u32)(left[c] != CPU_NO_LIMIT) << c;
	cpu_set_limits(cpu, limited, can_approach, left);
	cpu->limits.can_approach = can_approach;
}

/* Runs the mixture up to `rounds` limits; returns how many polls stopped for each. */
static u64 approach(struct mixture m, u64 insns, u64 branches, u32 rounds)
{
	u64 done[2] = {0, 0}, left[CELL_NR];

	cpu_clear_bank(&own.cpu);
	own.bank.want = counts;
	exits = 0;
	for (u32 i = 0; i < rounds; i++) {
		u64 end[2] = {insns == CPU_NO_LIMIT ? insns : done[0] + insns,
			      branches == CPU_NO_LIMIT ? branches : done[1] + branches};
		u32 k, row, n;

		for (enum cell c = 0; c < CELL_NR; c++)
			left[c] = CPU_NO_LIMIT;
		left[CELL_INSTRUCTIONS] = insns;
		left[CELL_BRANCHES] = branches;
		set_limits(&own.cpu, left);
		for (;;) {
			k = mixture_next(&m);
			row = m.row[k], n = m.n[k];
			if (!run_block(&own.cpu, row, n))
				break;
			own.cpu.limits.summed = 0;
			done[0] += n;
			done[1] += row;
			if (done[0] >= end[0] || done[1] >= end[1])
				break;
		}
		/* It stopped, in front of the block with the limit. */
		expect(done[0] < end[0] && done[1] < end[1]);
		expect(done[0] + n >= end[0] || done[1] + row >= end[1]);
		/* The caller steps through it: the countdowns tell the counts, until one steps otherwise. */
		own.bank.cell[CELL_INSTRUCTIONS] += n;
		own.bank.cell[CELL_BRANCHES] += row;
		own.cpu.limits.countdown[CELL_INSTRUCTIONS] += n;
		own.cpu.limits.countdown[CELL_BRANCHES] += row;
		own.cpu.limits.stale |= random_below(2);
		own.cpu.limits.stale |= (own.cpu.limits.on & 1) && !(own.cpu.limits.want & CPU_WANT_COUNTDOWN);
		own.cpu.limits.stale |= (own.cpu.limits.on & 2) && !(own.cpu.limits.want & CPU_WANT_COUNTDOWN_BRANCHES);
		done[0] += n;
		done[1] += row;
		expect(cpu_limit_reached(&own.cpu));
		expect_long(cpu_own_count(&own.cpu, CELL_INSTRUCTIONS), done[0]);
		expect_long(cpu_own_count(&own.cpu, CELL_BRANCHES), done[1]);
		expect_long(cpu_read_cell(&own.bank, CELL_INSTRUCTIONS), done[0]);
		expect_long(cpu_read_cell(&own.bank, CELL_BRANCHES), done[1]);
	}
	return exits / rounds;
}

static void test_limits(void)
{
	for (u32 way = 0; way < 4; way++) {
		can_approach = way & 1;
		counts = CPU_WANT_BLOCKS | (way & 2 ? CPU_WANT_BRANCHES : 0);
		for (u32 i = 0; i < 300; i++) {
			u64 insns = random_below(4) ? 1 + random_below(1u << random_below(18)) : CPU_NO_LIMIT;
			u64 branches = random_below(2) ? 1 + random_below(1u << random_below(15)) : CPU_NO_LIMIT;
			struct mixture m = mixture_of(1 + random_below(64), 1u << random_below(16));

			m.row[0] = 1; /* or the limit of branches may never come */
			if (insns != CPU_NO_LIMIT || branches != CPU_NO_LIMIT)
				approach(m, insns, branches, 10);
		}
	}
	expect(approach(mixture_of(1, 1), 1000000, CPU_NO_LIMIT, 5) <= 40);
	expect(approach(mixture_of(20, 10), 1000000, CPU_NO_LIMIT, 10) <= 40);
	expect(approach(mixture_of(20, 100000), 1000000, CPU_NO_LIMIT, 10) <= 40);
	can_approach = false;
	expect(approach(mixture_of(20, 10), CPU_NO_LIMIT, 100000, 10) <= 300);
}

/* The end of a turn stops as a limit does, in front of the block that has it, and is none to who asks for limits. */
static void test_turn(void)
{
	u64 left[CELL_NR] = {[CELL_INSTRUCTIONS] = 10000}, done = 0;

	cpu_clear_bank(&own.cpu);
	own.bank.want = CPU_WANT_BLOCKS;
	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, false, left);
	cpu_set_turn(&own.cpu, 3000);
	for (; run_block(&own.cpu, 0, 7); own.cpu.limits.summed = 0)
		done += 7;
	expect(done < 3000 && done + 7 >= 3000);
	expect(!cpu_turn_is_over(&own.cpu));
	cpu_count_besides(&own.cpu, CELL_INSTRUCTIONS, 7);
	expect(cpu_turn_is_over(&own.cpu) && !cpu_limit_reached(&own.cpu));
	cpu_set_turn(&own.cpu, 0);
	expect(!cpu_turn_is_over(&own.cpu));
	expect_long(own.cpu.limits.at[CELL_INSTRUCTIONS], 10000);
	cpu_set_turn(&own.cpu, 50000);
	expect_long(own.cpu.limits.at[CELL_INSTRUCTIONS], 10000);
	cpu_set_limits(&own.cpu, 0, false, left);
	expect_long(own.cpu.limits.at[CELL_INSTRUCTIONS], done + 7 + 50000);
	expect_long(own.cpu.limits.on, 1u << CELL_INSTRUCTIONS);
	cpu_set_turn(&own.cpu, 0);
	expect_long(own.cpu.limits.on, 0);
}

/* In the words of polls, which have counted nothing. */
static u64 units_to_pass(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		sum -= own.bank.poll[i];
	return sum / CPU_POLL_UNIT;
}

/* How far sparse code runs: as long as no limit can be reached before the next stop, by whatever cell. */
static void test_sparse_until(void)
{
	for (enum cell c = 0; c < CELL_NR; c++)
		for (u64 far = 1; far < 4000; far++) {
			u64 left[CELL_NR] = {0}, each = c == CELL_CYCLES ? 2 : 1;

			left[c] = far;
			cpu_clear_bank(&own.cpu);
			own.bank.want = cpu_want_bit(c);
			cpu_set_limits(&own.cpu, 1u << c, false, left);
			cpu_renew_limits(&own.cpu);
			if (own.cpu.limits.want & CPU_WANT_SPARSE)
				expect(units_to_pass() + CPU_POLL_UNITS + CPU_POLL_FRONT + CPU_BLOCK_INSNS <=
				       far / each);
			expect(!(own.cpu.limits.want & CPU_WANT_SPARSE) == (far / each <= 2200));
		}
}

/* Where code is to run on up to a poll, no poll stops already: an indirect branch would ask the same poll again. */
static void test_polls_go_on(void)
{
	for (u64 left = 1; left < 1000; left++) {
		cpu_clear_bank(&own.cpu);
		own.bank.want = CPU_WANT_BLOCKS;
		own.cpu.limits.can_approach = 1;
		cpu_set_turn(&own.cpu, left);
		cpu_renew_limits(&own.cpu);
		expect(!(own.cpu.limits.want & CPU_WANT_SPARSE) || !cpu_poll_stops(&own.cpu));
		expect(!cpu_poll_on(&own.cpu) || !cpu_poll_stops(&own.cpu));
	}
	own.cpu.limits.can_approach = 0;
	cpu_set_turn(&own.cpu, 0);
}

/* Units are no fewer than instructions, and no more than half as many as quarter cycles. */
static void test_units(void)
{
	for (u32 weight = 1; weight < 200; weight++) {
		expect_long(cpu_units(CPU_WANT_BLOCKS, weight), 1);
		expect(2 * cpu_units(CPU_WANT_BLOCKS | CPU_WANT_CYCLES, weight) >= weight);
	}
}

/* Every way into the runtime and back counts as a poll. */
static void test_outside(void)
{
	u64 left[CELL_NR] = {[CELL_INSTRUCTIONS] = 10000};
	u32 times = 0;

	cpu_clear_bank(&own.cpu);
	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, false, left);
	cpu_renew_limits(&own.cpu);
	for (; !own.cpu.limits.stale; times++)
		cpu_poll_outside(&own.cpu);
	expect(times > 100 && times * CPU_POLL_UNITS < 10000);
}

/* ---- readers ---- */

static struct both *shared;
static u64 reads;
static int stop;

static void *read_on(void *arg)
{
	u64 before[CELL_NR] = {0};

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (enum cell c = 0; c < CELL_NR; c++) {
			u64 now = cpu_read_cell(&shared->bank, c);

			if (now < before[c] || now > 1ul << 40)
				expect_long(now, before[c]);
			before[c] = now;
			reads++;
		}
	return NULL;
}

static void change_limits(struct cpu *cpu)
{
	u64 left[CELL_NR];

	for (enum cell c = 0; c < CELL_NR; c++)
		left[c] = random_below(2) ? CPU_NO_LIMIT : 1 + random_below(1u << random_below(30));
	cpu_bank(cpu)->want = random_below(2) ? CPU_WANT_BLOCKS : CPU_WANT_CYCLES;
	set_limits(cpu, left);
	cpu_renew_limits(cpu);
}

static void test_reading_meanwhile(void)
{
	pthread_t thread;
	u64 insns = 0, branches = 0, loads = 0, cycles = 0;

	cpu_clear_bank(&shared->cpu);
	pthread_create(&thread, NULL, read_on, NULL);
	for (u32 i = 0; i < 200000 || !__atomic_load_n(&reads, __ATOMIC_RELAXED); i++) {
		u32 row = random_below(CPU_SPAN_BRANCHES + 1), n = 1 + random_below(CPU_BLOCK_INSNS);

		if (cpu_counts_in_polls(&shared->cpu) == CELL_INSTRUCTIONS) {
			add(&shared->bank.poll[i % CPU_POLL_WORDS], n);
			row = 0;
		} else {
			add(&shared->bank.blocks[cpu_row(row)][n - 1], 1);
		}
		if (cpu_counts_in_polls(&shared->cpu) == CELL_CYCLES)
			add(&shared->bank.poll[i % CPU_POLL_WORDS], 5);
		else
			add(&shared->bank.cycles[i % CPU_TURNS], 5);
		add(&shared->bank.cell[CELL_LOADS], 3);
		shared->cpu.limits.summed = 0;
		shared->cpu.limits.stale = 1;
		insns += n;
		branches += row;
		loads += 3;
		cycles += 5;
		if (i % 4 == 0)
			change_limits(&shared->cpu);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	expect(reads > 1000);
	expect_long(cpu_read_cell(&shared->bank, CELL_INSTRUCTIONS), insns);
	expect_long(cpu_read_cell(&shared->bank, CELL_BRANCHES), branches);
	expect_long(cpu_read_cell(&shared->bank, CELL_LOADS), loads);
	expect_long(cpu_read_cell(&shared->bank, CELL_CYCLES), cycles);
}

/* What was counted ahead is taken back where a loop is left, and corrected where the code is. */
static void test_shown(void)
{
	cpu_clear_bank(&own.cpu);
	own.bank.inside = 1;
	add(&own.bank.blocks[cpu_row(1)][3], 16);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 64);
	add(&own.bank.blocks[cpu_row(1)][3], -10ul);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 64);
	add(&own.bank.blocks[cpu_row(1)][3], 11);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 68);
	add(&own.bank.blocks[cpu_row(1)][3], -12ul);
	own.bank.inside = 0;
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 20);
	own.bank.inside = 1;
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 20);
	cpu_clear_bank(&own.cpu);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 0);
}

static void test_death(void)
{
	u32 halfway = 0;

	for (u32 round = 0; round < 100; round++) {
		u64 count[CELL_NR];
		pid_t pid;

		cpu_clear_bank(&shared->cpu);
		for (u32 n = 0; n < CPU_BLOCK_INSNS; n++)
			shared->bank.blocks[n % (CPU_SPAN_BRANCHES + 1)][n] = random_below(1000);
		for (u32 i = 0; i < CPU_TURNS; i++)
			shared->bank.cycles[i] = random_below(1000);
		for (u32 i = 0; i < CPU_POLL_WORDS; i++)
			shared->bank.poll[i] = random_below(1000);
		for (enum cell c = 0; c < CELL_NR; c++) {
			shared->bank.cell[c] += random_below(1000);
			count[c] = cpu_read_cell(&shared->bank, c);
		}
		pid = fork();
		if (!pid)
			for (;;)
				change_limits(&shared->cpu);
		usleep(200 + random_below(500));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		halfway += shared->bank.seq & 1;
		for (enum cell c = 0; c < CELL_NR; c++)
			expect_long(cpu_read_cell(&shared->bank, c), count[c]);
	}
	expect(halfway > 0);
}

static void test_clear(void)
{
	change_limits(&shared->cpu);
	shared->bank.seq |= 1;
	cpu_clear_bank(&shared->cpu);
	for (enum cell c = 0; c < CELL_NR; c++)
		expect_long(cpu_read_cell(&shared->bank, c), 0);
	expect(!cpu_limit_reached(&shared->cpu));
}

int main(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	test_limits();
	test_turn();
	test_polls_go_on();
	test_sparse_until();
	test_units();
	test_outside();
	test_reading_meanwhile();
	test_shown();
	test_death();
	test_clear();
	return unit_result();
}
