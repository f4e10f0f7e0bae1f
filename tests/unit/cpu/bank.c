/*
 * The counter bank's limits, with the translator played by the test: whatever mixture of blocks runs, no limit is passed unseen and it takes
 * few stops to get there; counts are right at any time, also while they change and after the owner's death in the middle.
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
	u32 row[64], n[64];
};

static struct mixture mixture_of(u32 kinds, u32 phase)
{
	struct mixture m = {.kinds = kinds, .phase = phase};

	for (u32 i = 0; i < kinds; i++) {
		m.row[i] = random_below(3) == 0;
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

static bool add(u64 *word, u64 n)
{
	__atomic_store_n(word, *word + n, __ATOMIC_RELAXED);
	return (s64)*word >= 0;
}

/* As the code of a CPU_WANT_LIMITS variant. False: it stopped in front of the block, for a limit in it. */
static bool run_block(struct cpu *cpu, u32 row, u32 n)
{
	for (;;) {
		if (cpu->limits_new | cpu->limits_stale)
			cpu_renew_limits(cpu);

		bool near = (cpu->near & CPU_WANT_COUNTDOWN) && add((u64 *)&cpu->countdown[CELL_INSTRUCTIONS], n);

		near |= (cpu->near & CPU_WANT_COUNTDOWN_BRANCHES) && !row && add((u64 *)&cpu->countdown[CELL_BRANCHES], 1);
		if (near) {
			cpu->countdown[CELL_INSTRUCTIONS] -= n;
			cpu->countdown[CELL_BRANCHES] -= !row;
			return false;
		}
		bool used_up = add(&cpu_bank(cpu)->blocks[row][n - 1], 1);

		expect(cpu_used_up(cpu) == used_up);
		if (!used_up)
			return true;
		exits++;
		/* Far from limits a block may end with an indirect branch, which looks at the word last. */
		if (!row && !(cpu->near & CPU_WANT_NEAR) && random_below(2)) {
			cpu->limits_stale = 1;
			return true;
		}
		cpu_bank(cpu)->cell[CELL_INSTRUCTIONS] -= n;
		cpu_bank(cpu)->cell[CELL_BRANCHES] -= !row;
		cpu->summed = 0;
		cpu->limits_stale = 1;
		if (cpu_limit_reached(cpu))
			return false;
	}
}

/* CPU_NO_LIMIT: none. */
static void set_limits(struct cpu *cpu, const u64 left[CELL_NR])
{
	u32 limited = 0;

	for (enum cell c = 0; c < CELL_NR; c++)
		limited |= (u32)(left[c] != CPU_NO_LIMIT) << c;
	cpu_set_limits(cpu, limited, false, left);
}

/* Runs the mixture up to `rounds` limits; returns how many times quotas had to be renewed for each. */
static u64 approach(struct mixture m, u64 insns, u64 branches, u32 rounds)
{
	u64 done[2] = {0, 0}, left[CELL_NR];

	cpu_clear_bank(&own.cpu);
	exits = 0;
	for (u32 i = 0; i < rounds; i++) {
		u64 end[2] = {insns == CPU_NO_LIMIT ? insns : done[0] + insns, branches == CPU_NO_LIMIT ? branches : done[1] + branches};
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
			own.cpu.summed = 0;
			done[0] += n;
			done[1] += !row;
			if (done[0] >= end[0] || done[1] >= end[1])
				break;
		}
		/* It stopped, in front of the block with the limit. */
		expect(done[0] < end[0] && done[1] < end[1]);
		expect(done[0] + n >= end[0] || done[1] + !row >= end[1]);
		/* The caller steps through it: the countdowns tell the counts, until one steps otherwise. */
		own.bank.cell[CELL_INSTRUCTIONS] += n;
		own.bank.cell[CELL_BRANCHES] += !row;
		own.cpu.countdown[CELL_INSTRUCTIONS] += n;
		own.cpu.countdown[CELL_BRANCHES] += !row;
		own.cpu.limits_stale |= random_below(2);
		own.cpu.limits_stale |= (own.cpu.limited & 1) && !(own.cpu.near & CPU_WANT_COUNTDOWN);
		own.cpu.limits_stale |= (own.cpu.limited & 2) && !(own.cpu.near & CPU_WANT_COUNTDOWN_BRANCHES);
		done[0] += n;
		done[1] += !row;
		expect(cpu_limit_reached(&own.cpu));
		expect_long(cpu_own_count(&own.cpu, CELL_INSTRUCTIONS), done[0]);
		expect_long(cpu_own_count(&own.cpu, CELL_BRANCHES), done[1]);
		expect_long(cpu_read_cell(&own.bank, CELL_INSTRUCTIONS), done[0]);
		expect_long(cpu_read_cell(&own.bank, CELL_BRANCHES), done[1]);
	}
	return exits / rounds;
}

static void test_quotas(void)
{
	for (u32 i = 0; i < 300; i++) {
		u64 insns = random_below(4) ? 1 + random_below(1u << random_below(18)) : CPU_NO_LIMIT;
		u64 branches = random_below(2) ? 1 + random_below(1u << random_below(15)) : CPU_NO_LIMIT;
		struct mixture m = mixture_of(1 + random_below(64), 1u << random_below(16));

		m.row[0] = 0; /* or the limit of branches may never come */
		if (insns != CPU_NO_LIMIT || branches != CPU_NO_LIMIT)
			approach(m, insns, branches, 10);
	}
	expect(approach(mixture_of(1, 1), 1000000, CPU_NO_LIMIT, 5) <= 4);
	expect(approach(mixture_of(20, 10), 1000000, CPU_NO_LIMIT, 10) <= 12);
	expect(approach(mixture_of(20, 10), 100000, CPU_NO_LIMIT, 20) <= 12);
	expect(approach(mixture_of(20, 100000), 1000000, CPU_NO_LIMIT, 10) <= 40);
	expect(approach(mixture_of(20, 10), CPU_NO_LIMIT, 100000, 10) <= 12);
}

/* ---- limits that may be moved ---- */

/* A program of two parts in turn, of so many blocks each; in the second no block looks unless told to. */
struct parts {
	u32 blocks[2];
	u32 n; /* instructions in a block */
	bool told, deaf;
};

/* Runs a block as code does that is of the variant in force. False: it stopped in front of it, for a limit in it. */
static bool run_movable(struct cpu *cpu, u32 n, u32 looks)
{
	if (cpu->limits_new | cpu->limits_stale)
		cpu_renew_limits(cpu);
	if (!(cpu->near & CPU_WANT_LOOSE))
		return run_block(cpu, 0, n);
	if (looks) {
		cpu_bank(cpu)->looks += CPU_LOOK + CPU_LOOK_BRANCH + n;
		if (cpu_bank(cpu)->looks < 0)
			return true;
		cpu->look_id = looks;
		if (cpu_look_on(cpu))
			return true;
		/* It stops in front of the block, which is not done. */
		cpu_bank(cpu)->cell[CELL_INSTRUCTIONS] -= n;
		cpu_bank(cpu)->cell[CELL_BRANCHES]--;
		cpu->limits_stale = 1;
		cpu->summed = 0;
		return run_movable(cpu, n, 0);
	}
	cpu_bank(cpu)->blocks[0][n - 1]++;
	return true;
}

/* Runs it up to `rounds` limits with that period; how many of them, in percent, were in the second part. */
static u32 in_second_part(struct parts p, u64 period, u32 rounds, u32 *moved)
{
	u64 done = 0, left[CELL_NR], block = 0;
	u32 second = 0, part, in_turn;

	cpu_clear_bank(&own.cpu);
	*moved = 0;
	for (u32 i = 0; i < rounds; i++) {
		left[CELL_INSTRUCTIONS] = period;
		cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, true, left);
		for (;; block++, done += p.n) {
			part = block % (p.blocks[0] + p.blocks[1]) >= p.blocks[0];
			own.cpu.summed = 0;
			/* A tick now and then. */
			if ((own.cpu.near & CPU_WANT_LOOSE) && random_below(16 * (u32)period / p.n) == 0)
				cpu_probe(&own.cpu, 1 + part);
			in_turn = block % (p.blocks[0] + p.blocks[1]);
			if (!run_movable(&own.cpu, p.n, block % 16 == 0 && (!part || p.told) ? 1 + in_turn : 0))
				break;
			p.told |= own.cpu.look_at == 2 && !p.deaf;
			own.cpu.look_at = 0;
		}
		*moved += !!own.cpu.strict;
		if (own.cpu.strict)
			own.cpu.probe = 1 + part;
		second += part;
		/* However it got there, it is in front of the block with the limit. */
		expect_long(cpu_own_count(&own.cpu, CELL_INSTRUCTIONS), done);
		expect(done < own.cpu.limit[0] && own.cpu.limit[0] <= done + p.n);
	}
	return second * 100 / rounds;
}

static void test_movable(void)
{
	u32 moved, share;

	/* All look: hardly any is moved. */
	share = in_second_part((struct parts){{500, 1500}, 5, true, false}, 103457, 2000, &moved);
	expect(share >= 70 && share <= 80);
	expect(moved < 2000 / 50);
	/* Stretches in which nobody looks get what is theirs, short or long against the period, and are told to look. */
	share = in_second_part((struct parts){{500, 1500}, 5, false, false}, 103457, 2000, &moved);
	expect(share >= 70 && share <= 80);
	expect(moved > 0 && moved < 2000 / 10);
	share = in_second_part((struct parts){{30000, 30000}, 5, false, false}, 103457, 2000, &moved);
	expect(share >= 45 && share <= 55);
	share = in_second_part((struct parts){{100, 100}, 3, false, false}, 103457, 2000, &moved);
	expect(share >= 45 && share <= 55);
	/* Most of it also if they do not. */
	share = in_second_part((struct parts){{500, 1500}, 5, false, true}, 103457, 2000, &moved);
	expect(share >= 58 && share <= 82);
	expect(moved > 100);
	/* Short periods are exact from the start. */
	in_second_part((struct parts){{500, 1500}, 5, false, false}, 75, 2000, &moved);
	expect_long(moved, 0);
}

/* A limit that loose code just reached is passed as well: what comes next did not reach it, least of all if it adds nothing. */
static void test_just_passed(void)
{
	for (enum cell c = 0; c < CELL_NR; c++) {
		u64 left[CELL_NR] = {0};

		left[c] = 10000;
		cpu_clear_bank(&own.cpu);
		cpu_set_limits(&own.cpu, 1u << c, true, left);
		cpu_renew_limits(&own.cpu);
		expect(own.cpu.near & CPU_WANT_LOOSE);
		cpu_count_besides(&own.cpu, c, 9999);
		expect(!cpu_limit_passed(&own.cpu));
		cpu_count_besides(&own.cpu, c, 1);
		expect(cpu_limit_passed(&own.cpu));
		cpu_renew_limits(&own.cpu);
		expect(own.cpu.limit[c] > 10000 && own.cpu.strict);
		expect(!cpu_limit_reached(&own.cpu));
	}
}

#define LOOK_INSNS 5

/* A block that looks, by that exit: true if it goes on at once; else it stopped in front of the block, and limits were renewed. */
static bool look(u64 exit)
{
	own.cpu.look_id = exit;
	own.bank.looks += CPU_LOOK + LOOK_INSNS;
	own.cpu.summed = 0;
	if (own.bank.looks < 0 || cpu_look_on(&own.cpu))
		return true;
	own.bank.cell[CELL_INSTRUCTIONS] -= LOOK_INSNS;
	own.cpu.limits_stale = 1;
	own.cpu.summed = 0;
	cpu_renew_limits(&own.cpu);
	return false;
}

/* And after that the block is done. */
static void run_after_look(u64 insns)
{
	own.bank.cell[CELL_INSTRUCTIONS] += LOOK_INSNS;
	own.bank.blocks[1][0] += insns;
	own.cpu.summed = 0;
}

/* A limit that was passed behind a look is found there the next time that no other look comes before its place. */
static void test_seek(void)
{
	u64 left[CELL_NR] = {[CELL_INSTRUCTIONS] = 140}, from;

	cpu_clear_bank(&own.cpu);
	own.cpu.can_walk = 1;
	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, true, left);
	cpu_renew_limits(&own.cpu);
	expect(look(7)); /* 135 in front of the limit */
	own.bank.blocks[1][0] += 400;
	expect(!look(8));
	expect(own.cpu.strict == CPU_WARY && own.cpu.again == 7 && (own.cpu.near & CPU_WANT_LOOSE));
	run_after_look(30);
	expect(look(9) && look(10)); /* each stops, and goes on */
	for (u32 astray = 0; astray < 2; astray++) {
		expect(!look(7));
		expect(own.cpu.strict == CPU_LOST && own.cpu.walking);
		run_after_look(0);
		expect(!cpu_walks_astray(&own.cpu));
		expect_long(cpu_walk_left(&own.cpu), 135);
		own.bank.blocks[1][0] += 100;
		own.bank.looks += CPU_LOOK + LOOK_INSNS;
		own.cpu.summed = 0;
		expect(cpu_walks_astray(&own.cpu));
		cpu_renew_limits(&own.cpu);
		expect(own.cpu.strict == CPU_WARY && !own.cpu.walking && (own.cpu.near & CPU_WANT_LOOSE));
		expect(own.cpu.limit[CELL_INSTRUCTIONS] > cpu_own_count(&own.cpu, CELL_INSTRUCTIONS) + 1000);
	}
	expect(!look(7));
	from = cpu_own_count(&own.cpu, CELL_INSTRUCTIONS) + LOOK_INSNS;
	run_after_look(134);
	expect(!cpu_walks_astray(&own.cpu));
	expect_long(cpu_walk_left(&own.cpu), 1);
	expect_long(own.cpu.limit[CELL_INSTRUCTIONS], from + 135);
}

/* It is not looked for without end. */
static void test_seek_ends(void)
{
	u64 left[CELL_NR] = {[CELL_INSTRUCTIONS] = 140};
	u32 tries = 0;

	cpu_clear_bank(&own.cpu);
	own.cpu.can_walk = 1;
	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, true, left);
	cpu_renew_limits(&own.cpu);
	expect(look(7));
	own.bank.blocks[1][0] += 400;
	expect(!look(8));
	run_after_look(0);
	for (u32 i = 0; i < 10000 && own.cpu.again; i++) {
		bool on = look(7);

		run_after_look(0);
		if (on)
			continue;
		tries += own.cpu.seeking;
		own.bank.looks += CPU_LOOK + LOOK_INSNS;
		own.cpu.summed = 0;
		expect(!own.cpu.seeking || cpu_walks_astray(&own.cpu));
		cpu_renew_limits(&own.cpu);
	}
	expect(tries > 10 && tries < 100 && own.cpu.strict == CPU_WARY);
}

/* Looks, each so far behind the one before, up to a limit that is far away. Returns how many stopped. */
static u32 stops_of(u32 looks, u64 apart, u64 limit)
{
	u64 left[CELL_NR] = {[CELL_INSTRUCTIONS] = limit};
	u32 stops = 0;

	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, true, left);
	cpu_renew_limits(&own.cpu);
	for (u32 i = 0; i < looks; i++) {
		own.bank.blocks[1][0] += apart - LOOK_INSNS;
		own.cpu.summed = 0;
		stops += own.bank.looks + CPU_LOOK + LOOK_INSNS >= 0;
		expect(look(7));
	}
	return stops;
}

/* A stretch in which nobody looked for long does not make each look stop from then on. */
static void test_stretch(void)
{
	u32 stops = 0;

	cpu_clear_bank(&own.cpu);
	stops_of(10000, 20, 1ul << 40);
	stops_of(50000, 100000, 1ul << 40);
	for (u32 i = 0; i < 20; i++)
		stops = stops_of(20000, 20, 1000000);
	expect(stops < 100);
}

/* Far from the limit nothing is added up, and nothing is lost; near it, it is not passed. */
static void test_far(void)
{
	u64 insns, done = 0;
	u32 stops;

	cpu_clear_bank(&own.cpu);
	stops_of(20000, 20, 1ul << 40);
	insns = cpu_own_count(&own.cpu, CELL_INSTRUCTIONS);
	stops = stops_of(100000, 20, 1ul << 40);
	expect(stops < 50 && own.cpu.looks_more > 0);
	expect_long(cpu_read_cell(&own.bank, CELL_INSTRUCTIONS), insns + 100000 * 20);
	stops_of(0, 20, 100000 * 20);
	do {
		done += 20;
		own.bank.blocks[1][0] += 20 - LOOK_INSNS;
		own.cpu.summed = 0;
	} while (look(7));
	expect(done > 90000 * 20 && done < 100000 * 20 && own.cpu.strict == 0);
}

/* The walk to a limit begins when it is less than `near` away. */
static void walk(u64 near, const u64 left[CELL_NR])
{
	u64 insns = 0, branches = 0;

	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, true, left);
	while (insns < 980) {
		u64 n = 1 + insns % 7;

		if (own.cpu.limits_new | own.cpu.limits_stale)
			cpu_renew_limits(&own.cpu);
		expect((bool)own.cpu.walking == (1000 - insns < near));
		expect(own.cpu.near & CPU_WANT_LOOSE);
		own.bank.looks += CPU_LOOK + (s64)n + (insns % 2 ? CPU_LOOK_BRANCH : 0);
		branches += insns % 2;
		insns += n;
		own.cpu.limits_stale = 1;
		own.cpu.summed = 0;
		expect_long(cpu_walk_left(&own.cpu), 1000 - insns);
		expect_long(cpu_own_count(&own.cpu, CELL_INSTRUCTIONS), insns);
		expect_long(cpu_read_cell(&own.bank, CELL_BRANCHES), branches);
		expect(cpu_walks(&own.cpu));
	}
}

/* What has looked is counted, however often the looks are renewed, and a walk ends in front of the limit. */
static void test_walk(void)
{
	u64 left[CELL_NR] = {[CELL_INSTRUCTIONS] = 1000};

	/* Sooner where looks were far from each other of late. */
	for (u64 wide = 0; wide < 2; wide++) {
		cpu_clear_bank(&own.cpu);
		own.cpu.can_walk = 1;
		own.cpu.widest[CELL_INSTRUCTIONS] = wide << 20;
		walk(wide ? 80 : 24, left);
	}
	cpu_walk_no_more(&own.cpu);
	cpu_renew_limits(&own.cpu);
	expect(!own.cpu.walking && (own.cpu.near & CPU_WANT_COUNTDOWN) && !(own.cpu.near & CPU_WANT_LOOSE));
	own.cpu.can_walk = 0;
	/* Where it may not be moved, or another has a limit, it is not walked to. */
	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS, false, left);
	expect(!cpu_walks(&own.cpu));
	left[CELL_BRANCHES] = 5;
	cpu_set_limits(&own.cpu, 1u << CELL_INSTRUCTIONS | 1u << CELL_BRANCHES, true, left);
	expect(!cpu_walks(&own.cpu));
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
	set_limits(cpu, left);
	cpu_renew_limits(cpu);
}

static void test_reading_meanwhile(void)
{
	pthread_t thread;
	u64 insns = 0, branches = 0, loads = 0;

	cpu_clear_bank(&shared->cpu);
	pthread_create(&thread, NULL, read_on, NULL);
	for (u32 i = 0; i < 200000 || !__atomic_load_n(&reads, __ATOMIC_RELAXED); i++) {
		u32 row = random_below(2), n = 1 + random_below(CPU_BLOCK_INSNS);

		add(&shared->bank.blocks[row][n - 1], 1);
		add(&shared->bank.cell[CELL_LOADS], 3);
		shared->cpu.summed = 0;
		shared->cpu.limits_stale = 1;
		insns += n;
		branches += !row;
		loads += 3;
		if (i % 4 == 0)
			change_limits(&shared->cpu);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	expect(reads > 1000);
	expect_long(cpu_read_cell(&shared->bank, CELL_INSTRUCTIONS), insns);
	expect_long(cpu_read_cell(&shared->bank, CELL_BRANCHES), branches);
	expect_long(cpu_read_cell(&shared->bank, CELL_LOADS), loads);
}

/* What was counted ahead is taken back where a loop is left, and corrected where the code is. */
static void test_shown(void)
{
	cpu_clear_bank(&own.cpu);
	own.bank.inside = 1;
	add(&own.bank.blocks[0][3], 16);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 64);
	add(&own.bank.blocks[0][3], -10ul);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 64);
	add(&own.bank.blocks[0][3], 11);
	expect_long(cpu_show_cell(&own.bank, CELL_INSTRUCTIONS), 68);
	add(&own.bank.blocks[0][3], -12ul);
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
			shared->bank.blocks[n & 1][n] = random_below(1000);
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
	test_quotas();
	test_movable();
	test_just_passed();
	test_seek();
	test_seek_ends();
	test_stretch();
	test_far();
	test_walk();
	test_reading_meanwhile();
	test_shown();
	test_death();
	test_clear();
	return unit_result();
}
