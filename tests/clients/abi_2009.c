/*
 * The interface of 2009 by its text alone: counting, groups, read(), ioctl, prctl, inheritance, tasks and CPUs, and
 * what is refused. With the argument "few": with as few counters as --counters=1 gives. With "answers": checks nothing,
 * prints what the calls return, which without --abi=2009 is what today's kernel says to such a program.
 *
 * cflags: -Iinclude
 */
#include "tests/clients/abi_2009.h"

/* struct perf_event_attr of today, as far as it is needed, to compare with. */
struct attr_of_today {
	__u32 type, size;
	__u64 config, period, sample_type, read_format;
	__u64 disabled : 1, : 4, exclude_kernel : 1, : 58;
	__u32 wakeup, bp_type;
	__u64 config1;
};

static long today(__u32 type, __u64 config, long long n)
{
	struct attr_of_today attr = {.type = type, .size = 64, .config = config, .disabled = 1, .exclude_kernel = 1};
	int fd = (int)syscall(298, &attr, 0, -1, -1, 0);
	long v;

	TRUE(fd >= 0);
	region(fd, (unsigned long)n, 0);
	v = value(fd);
	close(fd);
	return v;
}

static long counted(__u64 config, unsigned long n)
{
	int fd = open_it((struct perf_event_hw_event){.config = config, .disabled = 1}, -1);
	long v;

	EXPECT(value(fd), 0);
	region(fd, n, 0);
	v = value(fd);
	close(fd);
	return v;
}

static void test_layout(void)
{
	EXPECT(sizeof(struct perf_event_hw_event), 56);
	EXPECT(sizeof(struct perf_event_attr), 56);
	EXPECT(sizeof(enum perf_type_id) + sizeof(enum perf_hw_id) + sizeof(enum perf_sw_ids), 12);
	EXPECT(__builtin_offsetof(struct perf_event_hw_event, irq_period), 8);
	EXPECT(__builtin_offsetof(struct perf_event_hw_event, record_type), 16);
	EXPECT(__builtin_offsetof(struct perf_event_hw_event, read_format), 20);
	EXPECT(__builtin_offsetof(struct perf_event_hw_event, extra_config_len), 32);
	EXPECT(__builtin_offsetof(struct perf_event_hw_event, wakeup_events), 36);
	EXPECT(__builtin_offsetof(struct perf_event_mmap_page, offset), 16);
	EXPECT(__builtin_offsetof(struct perf_event_mmap_page, data_head), 24);
}

/* To the unit, and the same as through today's interface, of both in one program. */
static void test_counts(void)
{
	long few = counted(HW(INSTRUCTIONS), ROUNDS), raw = counted(PERF_HW_EVENT_RAW | 0xc0, ROUNDS);

	EXPECT(counted(HW(INSTRUCTIONS), 2 * ROUNDS) - few, ROUNDS * LOOP);
	EXPECT(today(0, PERF_COUNT_HW_INSTRUCTIONS, ROUNDS), few);
	EXPECT(raw, few); /* retired instructions, of AMD and Intel */
	EXPECT(today(4, 0xc0, ROUNDS), raw);
	EXPECT(counted(HW(BRANCH_INSTRUCTIONS), ROUNDS), ROUNDS);
	EXPECT(today(0, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, ROUNDS), ROUNDS);
	TRUE(counted(SW(TASK_CLOCK), ROUNDS) > 0);
	TRUE(counted(SW(CPU_CLOCK), ROUNDS) > 0);
	EXPECT(counted(SW(ALIGNMENT_FAULTS), ROUNDS), 0);
	EXPECT(counted(SW(EMULATION_FAULTS), ROUNDS), 0);
}

static void test_faults(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = SW(PAGE_FAULTS)}, -1);
	int minor = open_it((struct perf_event_hw_event){.config = SW(PAGE_FAULTS_MIN)}, -1);
	char *at = mmap(NULL, 50 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long long before;

	for (int i = 0; i < 50; i++)
		at[i * 4096] = 1;
	before = value(fd);
	TRUE(before >= 50);
	TRUE(value(minor) >= 50);
	munmap(at, 50 * 4096);
	close(minor);
	close(fd);
}

static void test_switches(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = SW(CONTEXT_SWITCHES)}, -1);
	int moves = open_it((struct perf_event_hw_event){.config = SW(CPU_MIGRATIONS)}, -1);
	int major = open_it((struct perf_event_hw_event){.config = SW(PAGE_FAULTS_MAJ)}, -1);

	usleep(1000);
	TRUE(value(fd) >= 1);
	TRUE(value(moves) >= 0);
	TRUE(value(major) >= 0);
	close(fd);
	close(moves);
	close(major);
}

static void test_read(void)
{
	for (unsigned format = 0; format < 4; format++) {
		int fd = open_it(
			(struct perf_event_hw_event){.config = HW(INSTRUCTIONS), .read_format = format, .disabled = 1},
			-1);
		unsigned words = 1 + (format & 1) + (format >> 1);
		long long v[5] = {-1, -1, -1, -1, -1};

		region(fd, ROUNDS, 0);
		EXPECT(read(fd, v, sizeof(v)), words * 8);
		EXPECT(v[0], counted(HW(INSTRUCTIONS), ROUNDS));
		for (unsigned i = 1; i < words; i++)
			TRUE(v[i] > 0 && v[i] == v[1]); /* it counted all the time that it was enabled */
		EXPECT(v[words], -1);
		EXPECT(read(fd, v, words * 8 - 1), -1);
		EXPECT(errno, ENOSPC);
		close(fd);
	}
}

/* A leader that is disabled stops all, a member itself. Other argument: what is in the register, since there is none.
 */
static void test_groups(void)
{
	struct perf_event_hw_event off = {.config = HW(INSTRUCTIONS), .disabled = 1};
	struct perf_event_hw_event on = {.config = HW(BRANCH_INSTRUCTIONS)};
	int leader = open_it(off, -1), a = open_it(on, leader), b = open_it(on, leader);

	rounds(ROUNDS);
	EXPECT(value(leader) + value(a) + value(b), 0);
	region(leader, ROUNDS, ~0ul);
	EXPECT(value(a), ROUNDS);
	EXPECT(value(b), ROUNDS);
	TRUE(value(leader) >= (long)(ROUNDS * LOOP));
	EXPECT(ioctl(b, PERF_EVENT_IOC_DISABLE), 0);
	region(leader, ROUNDS, ~0ul); /* a group flag in the argument would enable b again */
	EXPECT(value(a), 2 * ROUNDS);
	EXPECT(value(b), ROUNDS);
	EXPECT(refused(on, 0, -1, a, 0), EINVAL);
	on.pinned = 1;
	EXPECT(refused(on, 0, -1, leader, 0), EINVAL);
	on.pinned = 0;
	on.exclusive = 1;
	EXPECT(refused(on, 0, -1, leader, 0), EINVAL);
	close(b);
	close(a);
	close(leader);
}

/* A GROUP record has 16 bytes for each, and a record at most 65,535. */
static void test_large_group(void)
{
	struct perf_event_hw_event hw = {.config = SW(PAGE_FAULTS)};
	struct rlimit limit = {1200, 1200};
	static int fd[1200];
	int n = 0;

	fd[0] = open_it(hw, -1);
	if (!setrlimit(RLIMIT_NOFILE, &limit)) {
		do
			fd[++n] = sys_perf_event_open(&hw, 0, -1, fd[0], 0);
		while (fd[n] >= 0);
		EXPECT(errno, E2BIG);
		EXPECT(n, 1023);
	}
	for (int i = 0; i <= n; i++)
		close(fd[i]);
}

struct pipes {
	int to[2], from[2];
};

static void step(int fd)
{
	EXPECT(write(fd, "x", 1), 1);
}

static void wait_step(int fd)
{
	char c;

	EXPECT(read(fd, &c, 1), 1);
}

/* Disables what counts it, then enables it, its own work in between. */
static _Noreturn void controlled(const struct pipes *p)
{
	wait_step(p->to[0]);
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	rounds(ROUNDS);
	step(p->from[1]);
	wait_step(p->to[0]);
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	rounds(ROUNDS);
	step(p->from[1]);
	wait_step(p->to[0]);
	_exit(failures);
}

/* Leaders of the calling task, whoever opened them; not members, and not what the task has opened elsewhere. */
static void test_prctl(void)
{
	struct perf_event_hw_event branches = {.config = HW(BRANCH_INSTRUCTIONS), .disabled = 1};
	struct pipes p;
	int own, member, other, status;
	long long v;
	pid_t child;

	EXPECT(pipe(p.to) | pipe(p.from), 0);
	child = fork();
	if (!child)
		controlled(&p);
	own = open_it(branches, -1);
	member = open_it(branches, own);
	branches.disabled = 0;
	other = sys_perf_event_open(&branches, child, -1, -1, 0);
	TRUE(other >= 0);
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	rounds(ROUNDS);
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	v = value(own);
	TRUE(v >= (long)ROUNDS && v < (long)ROUNDS + 100);
	EXPECT(value(member), 0);
	rounds(ROUNDS);
	EXPECT(value(own), v);
	step(p.to[1]);
	wait_step(p.from[0]);
	v = value(other); /* not switched by us, but by its own task */
	TRUE(v > 0 && v < 1000);
	step(p.to[1]);
	wait_step(p.from[0]);
	v = value(other);
	TRUE(v >= (long)ROUNDS && v < (long)ROUNDS + 1000);
	step(p.to[1]);
	EXPECT(waitpid(child, &status, 0), child);
	EXPECT(status, 0);
	close(own);
	close(member);
	close(other);
	for (int i = 0; i < 2; i++) {
		close(p.to[i]);
		close(p.from[i]);
	}
}

static void test_inherit(void)
{
	struct perf_event_hw_event hw = {.config = HW(BRANCH_INSTRUCTIONS), .inherit = 1};
	int fd = open_it(hw, -1), status;
	long long v;

	hw.inherit = 0;
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (!child) {
			rounds(ROUNDS);
			_exit(0);
		}
		EXPECT(waitpid(child, &status, 0), child);
	}
	v = value(fd);
	TRUE(v >= 3 * (long)ROUNDS && v < 4 * (long)ROUNDS);
	EXPECT(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), -1);
	EXPECT(errno, EINVAL);
	close(fd);
}

/* All tasks of a CPU are for who may. */
static void test_cpus(void)
{
	struct perf_event_hw_event hw = {.config = HW(BRANCH_INSTRUCTIONS), .disabled = 1};
	cpu_set_t all, one;
	int fd, cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int pid = 0; pid >= -7; pid -= 7) {
		fd = sys_perf_event_open(&hw, pid, cpu, -1, 0);
		if (fd < 0) {
			EXPECT(errno, EACCES);
			TRUE(pid && geteuid());
			continue;
		}
		region(fd, ROUNDS, 0);
		TRUE(value(fd) >= (long)ROUNDS);
		close(fd);
	}
	sched_setaffinity(0, sizeof(all), &all);
	EXPECT(refused(hw, -1, -1, -1, 0), EINVAL);
	EXPECT(refused(hw, -7, -1, -1, 0), EINVAL);
	EXPECT(refused(hw, 0, -2, -1, 0), EINVAL);
	EXPECT(refused(hw, 0, 1 << 20, -1, 0), EINVAL);
}

static void test_tracepoint(void)
{
	char text[16] = "";
	int fd = open("/debug/tracing/events/syscalls/sys_enter_getppid/id", O_RDONLY);
	struct perf_event_hw_event hw = {.disabled = 1};

	TRUE(fd >= 0);
	TRUE(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	hw.config = PERF_HW_EVENT_CONFIG(PERF_TYPE_TRACEPOINT, strtoul(text, NULL, 10));
	fd = open_it(hw, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < 7; i++)
		syscall(SYS_getppid);
	ioctl(fd, PERF_EVENT_IOC_DISABLE);
	EXPECT(value(fd), 7);
	close(fd);
}

#define BAD(...) refused((struct perf_event_hw_event){__VA_ARGS__}, 0, -1, -1, 0)

static void test_refused(void)
{
	struct perf_event_hw_event good = {.config = HW(INSTRUCTIONS)}, high = good;
	int fd;

	EXPECT(refused(good, 0, -1, -1, 0), 0);
	EXPECT(refused(good, 0, -1, -1, 1), EINVAL);
	EXPECT(refused(good, 0, -1, -1, 8), EINVAL); /* today's PERF_FLAG_FD_CLOEXEC */
	EXPECT(refused(good, 0, -1, 0, 0), EBADF);
	EXPECT(refused(good, 0x3fffffff, -1, -1, 0), ESRCH);
	EXPECT(syscall(298, NULL, 0, -1, -1, 0), -1);
	EXPECT(errno, EFAULT);
	EXPECT(syscall(298, NULL, 0, -1, -1, 1), -1);
	EXPECT(errno, EINVAL);
	EXPECT(BAD(.config = 7), EINVAL); /* ids that came later */
	EXPECT(BAD(.config = SW(CPU_CLOCK) + 9), EINVAL);
	EXPECT(BAD(.config = PERF_HW_EVENT_ID), EINVAL);
	EXPECT(BAD(.config = PERF_HW_EVENT_CONFIG(3, 0)), EINVAL);
	EXPECT(BAD(.config = PERF_HW_EVENT_CONFIG(127, 0)), EINVAL);
	EXPECT(BAD(.config = PERF_HW_EVENT_CONFIG(PERF_TYPE_TRACEPOINT, 0xffffff)), EINVAL);
	EXPECT(BAD(.config = PERF_HW_EVENT_RAW | 0xffff), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .irq_period = 1ull << 63), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .record_type = 64), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .read_format = 4), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .__reserved_1 = 1), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .__reserved_1 = 1ull << 51), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .extra_config_len = 1), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .__reserved_2 = 1), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .__reserved_3 = 1), EINVAL);
	EXPECT(BAD(.config = HW(INSTRUCTIONS), .exclude_user = 1), EINVAL); /* there is no other mode to count */
	*((char *)&high + 31) = (char)0x80;				    /* the bit behind the reserved ones */
	EXPECT(refused(high, 0, -1, -1, 0), EINVAL);
	fd = open_it(good, -1);
	for (unsigned long request = _IO('$', 3); request < _IO('$', 12); request++)
		EXPECT(ioctl(fd, request, 0) < 0 ? errno : 0, ENOTTY);	      /* RESET and what came later */
	EXPECT(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) < 0 ? errno : 0, EINVAL); /* it does not sample */
	EXPECT(write(fd, "x", 1) < 0 ? errno : 0, EINVAL);
	close(fd);
}

/* An event of today does not write its records among those of 2009. */
static void test_output(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = HW(INSTRUCTIONS)}, -1);
	struct attr_of_today attr = {.type = 1, .size = 64};
	int other = (int)syscall(298, &attr, 0, -1, -1, 0);
	void *at = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, fd, 0);

	TRUE(other >= 0 && at != MAP_FAILED);
	EXPECT(ioctl(other, _IO('$', 5), fd) < 0 ? errno : 0, EINVAL);
	munmap(at, 2 * 4096);
	close(other);
	close(fd);
}

static unsigned long long random_bits(void)
{
	static unsigned long long x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Whatever is in the structure, it is counted or refused for a reason that the text has. */
static void test_random(void)
{
	union {
		struct perf_event_hw_event hw;
		unsigned long long word[7];
	} u;
	int opened = 0, error;

	for (int i = 0; i < 20000; i++) {
		memset(&u, 0, sizeof(u));
		for (unsigned n = random_bits() % 4; n; n--)
			u.word[random_bits() % 7] |= 1ull << random_bits() % 64;
		u.word[0] |= random_bits() % 4 << PERF_HW_EVENT_TYPE_SHIFT | random_bits() % 12;
		if (u.word[0] >> 32 >= 64 && u.word[0] >> 32 <= 4096)
			continue; /* a structure of today */
		error = refused(u.hw, 0, -1, -1, 0);
		TRUE(!error || error == EINVAL || (error == EACCES && geteuid()));
		opened += !error;
	}
	TRUE(opened > 1000);
}

/* One counter: the second pinned group has none, and says so until it is enabled or disabled. */
static void test_few(void)
{
	struct perf_event_hw_event hw = {.config = HW(INSTRUCTIONS), .pinned = 1, .disabled = 1};
	int first = open_it(hw, -1), second = open_it(hw, -1);
	long long v;

	EXPECT(ioctl(first, PERF_EVENT_IOC_ENABLE), 0);
	EXPECT(ioctl(second, PERF_EVENT_IOC_ENABLE), 0);
	TRUE(value(first) > 0);
	EXPECT(read(second, &v, sizeof(v)), 0);
	EXPECT(ioctl(first, PERF_EVENT_IOC_DISABLE), 0);
	EXPECT(read(second, &v, sizeof(v)), 0);
	EXPECT(ioctl(second, PERF_EVENT_IOC_ENABLE), 0);
	TRUE(value(second) > 0);
	EXPECT(ioctl(first, PERF_EVENT_IOC_ENABLE), 0);
	EXPECT(read(second, &v, sizeof(v)), 0);
	EXPECT(ioctl(second, PERF_EVENT_IOC_DISABLE), 0);
	TRUE(value(second) > 0);
}

/* Followed by zeroes, which today's structure has behind this one. */
static void answer(struct perf_event_hw_event hw)
{
	union {
		struct perf_event_hw_event hw;
		char today[136];
	} u = {.hw = hw};
	int fd = sys_perf_event_open(&u.hw, 0, -1, -1, 0), err = errno;
	long long v[3] = {0};
	long n = read(fd, v, sizeof(v));

	printf("%d %d %ld", fd < 0 ? err : 0, u.hw.config != hw.config, n);
	for (unsigned long request = _IO('$', 0); request < _IO('$', 4); request++)
		printf(" %d", ioctl(fd, request, 0) < 0 ? errno : 0);
	printf(" %d\n", prctl(PR_TASK_PERF_EVENTS_DISABLE));
	close(fd);
}

static void print_answers(void)
{
	for (unsigned id = 0; id < 10; id++) {
		answer((struct perf_event_hw_event){.config = SW(CPU_CLOCK) + id, .irq_period = 100000});
		answer((struct perf_event_hw_event){.config = PERF_HW_EVENT_RAW | id, .record_type = id});
		answer((struct perf_event_hw_event){.config = PERF_HW_EVENT_CONFIG(1 + id, 0), .read_format = id});
		/* What is counted is a software event of that number, or what today's structure has there. */
		answer((struct perf_event_hw_event){.config = PERF_COUNT_HW_INSTRUCTIONS, .irq_period = id});
	}
	answer((struct perf_event_hw_event){.config = 1 | 64ull << 32, .irq_period = 1, .comm = 1});
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "answers")) {
		print_answers();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "few")) {
		test_few();
		return !!failures;
	}
	test_layout();
	test_counts();
	test_faults();
	test_switches();
	test_read();
	test_groups();
	test_large_group();
	test_prctl();
	test_inherit();
	test_cpus();
	test_tracepoint();
	test_refused();
	test_output();
	test_random();
	return !!failures;
}
