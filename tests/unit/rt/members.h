/* Members of a session with nothing but sections: the memory that they share, and their work. Included once. */
#ifndef TESTS_UNIT_RT_MEMBERS_H
#define TESTS_UNIT_RT_MEMBERS_H

#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "rt/section.h"
#include "tests/unit/unit.h"

#define MEMBERS 8
#define WORDS 16
#define SMALL 3
#define TAKER_DIES 2 /* what is put off: whoever takes the section over dies in the middle of that */

static struct shared {
	struct slock first, second;
	volatile u64 word[WORDS], done[MEMBERS + 1], in_second, shown;
	volatile pid_t tid[MEMBERS + 1];
	volatile u64 restarts, torn;
	volatile int stop, taker_dies;
	struct slock own[MEMBERS + 1];
	/* pair: changed with own[] of the same number; worked: by sections of a member */
	volatile u64 pair[MEMBERS + 1][2], worked[MEMBERS + 1];
	struct slock small[SMALL];
	/* by sections that hold two of the small locks, in any order, or all */
	volatile u64 both[SMALL][2], moved[MEMBERS + 1];
} *shared;

static __thread struct section self;
static u64 afters_done; /* by this process, in sections that were put back, too */

struct section *section_self(void)
{
	return &self;
}

static enum section_fence fence(u32 number)
{
	pid_t tid = shared->tid[number];

	return syscall(SYS_tkill, tid, SIGUSR1) ? FENCE_DEAD : FENCE_SENT;
}

static void after(u32 kind, u32 arg, u64 value, bool committed)
{
	if (kind == TAKER_DIES && !committed && shared->taker_dies)
		raise(SIGKILL);
	afters_done++;
	if (committed && value > shared->shown)
		shared->shown = value;
}

/* What was stored before is visible to all, and they look again. */
static void barrier(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0))
		usleep(SECTION_GRACE_NS / 1000);
}

static void on_fence(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (section_interrupted(&self, (u64 *)&g[REG_RIP], (u64 *)&g[REG_RDI]))
		__atomic_fetch_add(&shared->restarts, 1, __ATOMIC_RELAXED);
}

static void store(volatile u64 *p, u64 value)
{
	section_note((const void *)p, sizeof(*p));
	*p = value;
}

/* What any member finds: all words are the same, and so many as there were sections. */
static bool is_whole(void)
{
	u64 sum = 0;

	for (int i = 1; i < WORDS; i++)
		if (shared->word[i] != shared->word[0])
			return false;
	for (int i = 0; i <= MEMBERS; i++)
		sum += shared->done[i];
	return sum == shared->word[0] && shared->shown <= sum;
}

static __thread u64 answered; /* the section that was left for an answer */
static __thread u64 left;

/* Outside of the section. */
static void answer(void *arg)
{
	if (self.open)
		__atomic_fetch_add(&shared->torn, 1, __ATOMIC_RELAXED);
	answered = self.serial;
	left += *(u64 *)arg;
}

static __attribute__((noinline)) void work(u32 number, bool twice)
{
	u64 one = 1;

	slock_acquire(&shared->first);
	if (!is_whole())
		__atomic_fetch_add(&shared->torn, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WORDS / 2; i++)
		store(&shared->word[i], shared->word[i] + 1);
	if (twice) {
		slock_acquire(&shared->second);
		store(&shared->in_second, shared->in_second + 1);
		if (answered != self.serial)
			section_leave_for(answer, &one);
		slock_release(&shared->second);
	}
	for (int i = WORDS / 2; i < WORDS; i++)
		store(&shared->word[i], shared->word[i] + 1);
	store(&shared->done[number], shared->done[number] + 1);
	section_after(1, 0, shared->word[0]);
	slock_release(&shared->first);
}

static char *kept_stack(void)
{
	return mmap(NULL, SECTION_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static __attribute__((noinline)) void be_member(u32 number, void (*life)(u32 number))
{
	struct sigaction act = {.sa_sigaction = on_fence, .sa_flags = SA_SIGINFO};
	char *stack = kept_stack();

	shared->tid[number] = (pid_t)syscall(SYS_gettid);
	sigaction(SIGUSR1, &act, NULL);
	self = (struct section){.journal = section_journal(number), .number = number, .kept_stack = stack};
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0))
		self.bias_number = number;
	self.stack_top = (u64)__builtin_frame_address(0);
	life(number);
}

static void always(u32 number)
{
	for (u64 n = 0; !shared->stop; n++)
		work(number, n % 3 == 0);
}

static pid_t start(u32 number, void (*life)(u32 number))
{
	pid_t child = fork();

	if (!child) {
		shared->tid[number] = getpid();
		be_member(number, life);
		_exit(0);
	}
	shared->tid[number] = child;
	return child;
}

#endif
