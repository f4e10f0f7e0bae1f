/*
 * Sections of shared memory: exclusion, and taking over from members that are killed, stopped or starved at any moment.
 * The same work is done by all: some words are stored one after the other, and a section's work is there as a whole or
 * not at all.
 */
#include "tests/unit/rt/members.h"

static void advance(u32 i, u32 half)
{
	if (!half && shared->both[i][0] != shared->both[i][1])
		__atomic_fetch_add(&shared->torn, 1, __ATOMIC_RELAXED);
	store(&shared->both[i][half], shared->both[i][half] + 1);
}

static __attribute__((noinline)) void work_small(u32 number, u32 i, u32 k)
{
	slock_acquire(&shared->small[i]);
	advance(i, 0);
	slock_hold(&shared->small[k]);
	advance(k, 0);
	store(&shared->moved[number], shared->moved[number] + 2);
	advance(i, 1);
	advance(k, 1);
	slock_release(&shared->small[i]);
}

/* It waits while it holds what others want. */
static __attribute__((noinline)) void work_all(u32 number)
{
	slock_acquire(&shared->first);
	for (u32 i = SMALL; i--;) {
		slock_hold(&shared->small[i]);
		advance(i, 0);
	}
	for (u32 i = 0; i < SMALL; i++)
		advance(i, 1);
	store(&shared->moved[number], shared->moved[number] + SMALL);
	slock_release(&shared->first);
}

static void always_small(u32 number)
{
	for (u32 n = number; !shared->stop; n++) {
		work_small(number, n % SMALL, (n + 1 + number % 2) % SMALL);
		if (n % 16 == 0)
			work_all(number);
	}
}

static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

static void reset(void)
{
	struct shared *s = shared;

	memset(s, 0, sizeof(*s));
	slock_init(&s->first, RANK_SESSION);
	slock_init(&s->second, RANK_EVENT);
	be_member(MEMBERS, (void (*)(u32))section_settle);
}

static void one_of_all(int round)
{
	work(MEMBERS, round % 2);
}

static void one_small(int round)
{
	if (round % 2)
		work_all(MEMBERS);
	else
		work_small(MEMBERS, 0, 2);
}

/* Members that are stopped, go on or are killed at random moments, while this one works. Nobody waits for long. */
static void storm(bool killing, void (*life)(u32 number), void (*one)(int round))
{
	pid_t pid[MEMBERS] = {0};
	unsigned seed = 42;
	u64 longest = 0;

	reset();
	for (u32 i = 1; i < 4; i++)
		pid[i] = start(i, life);
	for (int round = 0; round < 600; round++) {
		u32 victim = 1 + (u32)rand_r(&seed) % 3;
		u64 begin;

		usleep((unsigned)rand_r(&seed) % 700);
		kill(pid[victim], SIGSTOP);
		begin = now_ms();
		one(round);
		longest = MAX(longest, now_ms() - begin);
		if (killing && round % 4 == 0) {
			kill(pid[victim], SIGKILL);
			waitpid(pid[victim], NULL, 0);
			section_settle(victim);
			pid[victim] = start(victim, life);
		} else {
			kill(pid[victim], SIGCONT);
		}
	}
	shared->stop = 1;
	for (u32 i = 1; i < 4; i++)
		kill(pid[i], SIGCONT), waitpid(pid[i], NULL, 0);
	for (u32 i = 1; i < 4; i++)
		section_settle(i);
	expect(is_whole());
	expect_long(shared->torn, 0);
	expect(longest < 20000); /* some 10 on a machine that is not shared; it was for ever */
	fprintf(stderr, "storm: %lu sections, %lu begun again, longest wait %lu ms\n",
		(unsigned long)(shared->word[0] + shared->both[0][0]), (unsigned long)shared->restarts,
		(unsigned long)longest);
	expect(shared->restarts > 0 || killing);
}

static void test_storm(bool killing)
{
	storm(killing, always, one_of_all);
	expect_long(shared->done[MEMBERS], 600);
}

struct job {
	u32 own, by;
};

/* As a sample: two words that always are the same, by a section that restarts where it was called. */
static void work_own(void *arg)
{
	const struct job *j = arg;
	volatile u64 *pair = shared->pair[j->own];

	slock_acquire(&shared->own[j->own]);
	if (pair[0] != pair[1])
		__atomic_fetch_add(&shared->torn, 1, __ATOMIC_RELAXED);
	store(&pair[0], pair[0] + 1);
	store(&shared->worked[j->by], shared->worked[j->by] + 1);
	store(&pair[1], pair[1] + 1);
	slock_release(&shared->own[j->own]);
}

/* Mostly with the lock of its own, which is biased to it then. */
static void always_own(u32 number)
{
	struct job job = {.by = number};
	unsigned seed = number;

	for (u64 n = 1; !shared->stop; n++) {
		job.own = n % 256 ? number : 1 + (u32)rand_r(&seed) % 3;
		section_run(work_own, &job);
	}
}

static void one_of_others(int round)
{
	struct job job = {.by = MEMBERS};

	for (job.own = 1; job.own < 4; job.own++)
		section_run(work_own, &job);
	(void)round;
}

static void test_biased(bool killing)
{
	u64 sum = 0;

	storm(killing, always_own, one_of_others);
	expect_long(shared->worked[MEMBERS], 600 * 3);
	for (u32 i = 0; i <= MEMBERS; i++) {
		expect_long(shared->pair[i][0], shared->pair[i][1]);
		sum += shared->pair[i][0] - shared->worked[i];
	}
	expect_long(sum, 0);
	fprintf(stderr, "biased: %lu sections of members with their own locks and others'\n",
		(unsigned long)shared->worked[1]);
}

static void test_small(bool killing)
{
	u64 sum = 0;

	storm(killing, always_small, one_small);
	expect_long(shared->moved[MEMBERS], 300 * (2 + SMALL));
	for (u32 i = 0; i < SMALL; i++) {
		expect_long(shared->both[i][0], shared->both[i][1]);
		sum += shared->both[i][0];
	}
	for (u32 i = 0; i <= MEMBERS; i++)
		sum -= shared->moved[i];
	expect_long(sum, 0);
}

/* Stopped with the lock: others go on at once; and when it runs again, its section restarts. */
static void stop_inside(u32 number)
{
	slock_acquire(&shared->first);
	section_after(TAKER_DIES, 0, 0);
	for (int i = 0; i < WORDS; i++)
		store(&shared->word[i], shared->word[i] + 1);
	if (!shared->in_second) /* the first time: not put back, it is not noted */
		raise(SIGSTOP);
	store(&shared->done[number], shared->done[number] + 1);
	slock_release(&shared->first);
}

static void test_stopped(void)
{
	pid_t child;
	int status;

	reset();
	child = start(1, stop_inside);
	waitpid(child, &status, WUNTRACED);
	expect(WIFSTOPPED(status));
	shared->in_second = 1;
	work(MEMBERS, false);
	expect_long(shared->word[0], 1);
	kill(child, SIGCONT);
	waitpid(child, &status, 0);
	expect_long(status, 0);
	expect_long(shared->word[0], 2);
	expect(is_whole());
	expect_long(shared->restarts, 1);
}

static void work_once(u32 number)
{
	work(number, false);
}

/*
 * Stopped with the lock, and who took its section over died while he put it back: it ends that itself, with nobody else
 * there.
 */
static void test_dead_taker(void)
{
	pid_t child, taker;
	int status;

	for (int reaped = 0; reaped < 2; reaped++) {
		siginfo_t info;

		reset();
		child = start(1, stop_inside);
		waitpid(child, &status, WUNTRACED);
		shared->taker_dies = 1;
		taker = start(2, work_once);
		waitid(P_PID, (id_t)taker, &info, WEXITED | WNOWAIT);
		expect_long(info.si_code, CLD_KILLED);
		if (reaped)
			waitpid(taker, NULL, 0);
		shared->taker_dies = 0;
		shared->in_second = 1;
		kill(child, SIGCONT);
		waitpid(child, &status, 0);
		expect_long(status, 0);
		expect_long(shared->word[0], 1);
		expect(is_whole());
		if (!reaped)
			waitpid(taker, NULL, 0);
	}
}

/* A zombie that holds the lock, and one that was waited for. */
static void die_inside(u32 number)
{
	slock_acquire(&shared->first);
	store(&shared->word[0], 77);
	raise(SIGKILL);
}

static void test_dead(void)
{
	siginfo_t info;
	pid_t child;

	for (int waited = 0; waited < 2; waited++) {
		reset();
		child = start(1, die_inside);
		waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
		if (waited)
			waitpid(child, NULL, 0);
		work(MEMBERS, true);
		expect(is_whole());
		expect_long(shared->word[0], 1);
		if (!waited)
			waitpid(child, NULL, 0);
	}
}

/* More than a journal has room for; what is put off is not the same twice in a row. */
static __attribute__((noinline)) void change_much(bool dies)
{
	u64 stores = SECTION_NOTES + 1000, afters = SECTION_AFTERS + 1000;

	slock_acquire(&shared->second);
	for (u64 i = 0; i < stores; i++)
		store(&shared->word[i % WORDS], i + 1);
	for (u64 i = 0; i < afters; i++)
		section_after(TAKER_DIES + 1, (u32)i, i + 1);
	if (dies)
		raise(SIGKILL);
	slock_release(&shared->second);
}

static void die_in_much(u32 number)
{
	change_much(true);
}

/* A long section, put back: also what is behind the end of the journal, and in its order. And one that is committed. */
static void test_long(void)
{
	pid_t child;

	reset();
	child = start(1, die_in_much);
	waitpid(child, NULL, 0);
	section_settle(1);
	for (int i = 0; i < WORDS; i++)
		expect_long(shared->word[i], 0);
	expect_long(shared->shown, 0);
	change_much(false);
	expect_long(shared->word[(SECTION_NOTES + 999) % WORDS], SECTION_NOTES + 1000);
	expect_long(shared->shown, SECTION_AFTERS + 1000);
}

/* Who had no business there wrote that a journal has as much as there is room for: nobody looks through all of that. */
static void test_spoilt_counts(void)
{
	struct journal *j = section_journal(1);
	pid_t child;

	reset();
	child = start(1, die_inside);
	waitpid(child, NULL, 0);
	j->notes = SECTION_NOTES + SECTION_LONG_NOTES;
	j->afters = SECTION_AFTERS + SECTION_LONG_AFTERS;
	afters_done = 0;
	section_settle(1);
	expect(afters_done <= SECTION_AFTERS);
	expect_long(shared->word[0], 0);
}

/* A section is left with two locks and stores in it: it happens once, afterwards, and the locks were free meanwhile. */
static void look_and_answer(void *arg)
{
	expect(is_whole());
	expect_long(shared->word[0], *(u64 *)arg);
	expect_long(shared->in_second, *(u64 *)arg);
	expect(!slock_is_held(&shared->first) && !slock_is_held(&shared->second));
	answered = self.serial;
	left++;
}

static __attribute__((noinline)) void leave_once(u64 round)
{
	slock_acquire(&shared->first);
	slock_acquire(&shared->second);
	for (int i = 0; i < WORDS; i++)
		store(&shared->word[i], shared->word[i] + 1);
	store(&shared->in_second, shared->in_second + 1);
	if (answered != self.serial)
		section_leave_for(look_and_answer, &round);
	store(&shared->done[MEMBERS], shared->done[MEMBERS] + 1);
	slock_release(&shared->second);
	slock_release(&shared->first);
}

static void leave_often(u32 number)
{
	for (u64 round = 0; round < 100; round++)
		leave_once(round);
}

static void test_leaving(void)
{
	reset();
	left = 0;
	be_member(MEMBERS, leave_often);
	expect(is_whole());
	expect_long(shared->word[0], 100);
	expect_long(left, 100);
}

static void *thread_life(void *arg)
{
	u32 number = (u32)(u64)arg;

	be_member(number, always);
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[3];

	reset();
	for (u64 i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread_life, (void *)(i + 1));
	usleep(200000);
	shared->stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	expect(is_whole());
	expect_long(shared->torn, 0);
	expect(shared->word[0] > 1000);
}

/*
 * A challenge that is answered, and after it as many of others as it takes for a serial of three bits to come again;
 * the last one is not answered yet. The second call: the section is over.
 */
static u32 fences;

static enum section_fence answered_by_eighth(u32 number)
{
	struct journal *j = section_journal(number);

	for (u32 i = 0; i < 8 && !fences; i++) {
		j->state &= ~SECTION_CHALLENGED;
		j->state = (j->state & ~SECTION_SERIALS) | ((j->state + SECTION_SERIAL) & SECTION_SERIALS);
		j->state |= SECTION_CHALLENGED;
	}
	if (fences++) {
		expect(!(j->state & SECTION_TAKEN));
		j->state = ((j->state >> SECTION_TURN_SHIFT) + 1) << SECTION_TURN_SHIFT;
	}
	return FENCE_PASSED;
}

/* A section is not taken for a challenge that only looks like the one that nobody answered. */
static void test_serial(void)
{
	enum section_fence (*was)(u32 number) = section_host.fence;

	reset();
	section_journal(1)->state = 5ul << SECTION_TURN_SHIFT | SECTION_BUSY;
	shared->first.owner = 1ul << SECTION_OWNER_SHIFT | 5;
	section_host.fence = answered_by_eighth;
	slock_acquire(&shared->first);
	expect_long(fences, 2);
	slock_release(&shared->first);
	section_host.fence = was;
}

int main(void)
{
	u64 size = (MEMBERS + 1) * LAYOUT_JOURNAL_SIZE + LAYOUT_LONG_SIZE;
	char *journals = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

#ifdef __SANITIZE_ADDRESS__
	fprintf(stderr, "sections that restart put their stack back, which this sanitizer takes for an error\n");
	return 77;
#endif
	alarm(80);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	section_host = (struct section_host){
		.journals = journals,
		.long_lock = &shared->second,
		.longer = (struct section_long *)(journals + size - LAYOUT_LONG_SIZE),
		.noted = (char *)shared,
		.noted_size = sizeof(*shared),
		.fence = fence,
		.barrier = barrier,
		.after = after,
	};
	test_leaving();
	test_serial();
	test_threads();
	test_stopped();
	test_dead_taker();
	test_dead();
	test_spoilt_counts();
	test_long();
	test_storm(false);
	test_storm(true);
	test_small(false);
	test_small(true);
	test_biased(false);
	test_biased(true);
	return unit_result();
}
