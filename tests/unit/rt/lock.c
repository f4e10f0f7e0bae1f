/* Locks of one process: exclusion between its threads. For those that processes share see section.c. */
#include <pthread.h>
#include <unistd.h>
#include "rt/lock.h"
#include "tests/unit/unit.h"

#define ROUNDS 20000

static struct lock private_lock;
static volatile long private_counter;

static void *private_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_acquire(&private_lock);
		private_counter = private_counter + 1;
		lock_release(&private_lock);
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
}

int main(void)
{
	alarm(50);
	test_threads();
	return unit_result();
}
