/* Locks: exclusion between threads and between processes, and taking over from every kind of dead owner. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rt/lock.h"
#include "tests/unit/unit.h"

#define ROUNDS 20000

struct shared {
	struct slock lock;
	volatile long counter, takeovers;
};

static struct lock private_lock;
static volatile long private_counter;
static struct shared *shared;

static void *private_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_acquire(&private_lock);
		private_counter = private_counter + 1;
		lock_release(&private_lock);
	}
	return NULL;
}

static void *shared_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (slock_acquire(&shared->lock))
			shared->takeovers = shared->takeovers + 1;
		shared->counter = shared->counter + 1;
		slock_release(&shared->lock);
	}
	return NULL;
}

static void run_threads(void *(*worker)(void *))
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void test_threads(void)
{
	lock_init(&private_lock, RANK_DBT);
	run_threads(private_worker);
	expect_long(private_counter, 3 * ROUNDS);
	expect_long(private_lock.word, 0);
	expect(lock_try(&private_lock));
	expect(!lock_try(&private_lock));
	lock_release(&private_lock);

	run_threads(shared_worker);
	expect_long(shared->counter, 3 * ROUNDS);
	expect_long(shared->takeovers, 0);
}

static void test_processes(void)
{
	shared->counter = 0;
	for (int i = 0; i < 3; i++) {
		if (!fork()) {
			shared_worker(NULL);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	expect_long(shared->counter, 3 * ROUNDS);
	expect_long(shared->takeovers, 0);
	expect_long(shared->lock.word, 0);
}

static void *take_and_end(void *arg)
{
	slock_acquire(&shared->lock);
	return NULL;
}

/* A zombie that holds the lock. */
static int die_with_lock(void)
{
	siginfo_t info;
	int child = fork();

	if (!child) {
		slock_acquire(&shared->lock);
		raise(SIGKILL);
	}
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	return child;
}

/* The owner is gone and waited for; a zombie; a thread of this process that ended. */
static void test_dead_owners(void)
{
	pthread_t t;
	siginfo_t info;
	int child = die_with_lock();

	expect(slock_acquire(&shared->lock)); /* still a zombie */
	slock_release(&shared->lock);
	waitpid(child, NULL, 0);

	child = fork();
	if (!child) {
		shared->lock.word = (u32)getpid(); /* as slock_acquire() leaves it before it notes the thread group */
		raise(SIGKILL);
	}
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	expect(slock_acquire(&shared->lock));
	slock_release(&shared->lock);
	waitpid(child, NULL, 0);

	child = fork();
	if (!child) {
		slock_acquire(&shared->lock);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	expect(slock_acquire(&shared->lock));
	slock_release(&shared->lock);
	expect(!slock_acquire(&shared->lock));
	slock_release(&shared->lock);

	pthread_create(&t, NULL, take_and_end, NULL);
	pthread_join(t, NULL);
	expect(slock_acquire(&shared->lock));
	slock_release(&shared->lock);
}

/* Where no descriptor can be opened, and none is. */
static void test_without_descriptors(void)
{
	struct rlimit old, none;
	int child = die_with_lock();

	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){0, old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	expect(slock_acquire(&shared->lock));
	slock_release(&shared->lock);
	setrlimit(RLIMIT_NOFILE, &old);
	waitpid(child, NULL, 0);
}

/* A live owner that is slow is left alone, also when it is stopped. */
static void test_slow_owner(void)
{
	int child = fork();

	if (!child) {
		slock_acquire(&shared->lock);
		raise(SIGSTOP);
		usleep(50000);
		shared->counter = 1234;
		slock_release(&shared->lock);
		_exit(0);
	}
	waitpid(child, NULL, WUNTRACED);
	if (!fork()) {
		usleep(100000);
		kill(child, SIGCONT);
		_exit(0);
	}
	expect(!slock_acquire(&shared->lock));
	expect_long(shared->counter, 1234);
	slock_release(&shared->lock);
	while (wait(NULL) > 0)
		;
}

/* Members that die at random moments while others work: nobody hangs, nobody is robbed of a lock. */
static void test_random_deaths(void)
{
	unsigned seed = 42;

	shared->counter = shared->takeovers = 0;
	for (int i = 0; i < 60; i++) {
		int child = fork();

		if (!child)
			for (;;)
				shared_worker(NULL);
		usleep(rand_r(&seed) % 2000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		for (int n = 0; n < 50; n++) {
			long before;

			slock_acquire(&shared->lock);
			before = shared->counter;
			shared->counter = before + 1;
			expect_long(shared->counter, before + 1);
			slock_release(&shared->lock);
		}
	}
}

int main(void)
{
	alarm(50);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	slock_init(&shared->lock, RANK_EVENT);
	test_threads();
	test_processes();
	test_dead_owners();
	test_without_descriptors();
	test_slow_owner();
	test_random_deaths();
	return unit_result();
}
