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

static struct lock guarded;
static __thread struct lock_holder own;
static u32 dead, given, mended;

static struct lock_holder *self(void)
{
	if (!own.name)
		own.name = LOCK_NOBODY + 1 + __atomic_fetch_add(&given, 1, __ATOMIC_RELAXED);
	return &own;
}

static bool is_gone(u32 name)
{
	return name == dead;
}

static void mend(struct lock *l)
{
	expect(l == &guarded && own.holds == 1 && guarded.word == (own.name | LOCK_WAITERS));
	mended++;
}

static void *die(void *arg)
{
	lock_acquire(arg);
	dead = own.name;
	return NULL;
}

static void *take(void *arg)
{
	lock_acquire(arg);
	private_counter++;
	lock_release(arg);
	expect_long(own.holds, 0);
	return NULL;
}

/* One of those who wait for it gets the lock of a thread that died with it, and mends it; the others come after. */
static void test_dead(void)
{
	pthread_t t[3];

	lock_host = (struct lock_host){self, is_gone, mend};
	lock_init(&guarded, RANK_DBT);
	pthread_create(&t[0], NULL, die, &guarded);
	pthread_join(t[0], NULL);
	expect_long(guarded.word, dead);
	expect(!lock_try(&guarded) && !own.holds);
	private_counter = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, take, &guarded);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	expect_long(private_counter, 3);
	expect_long(mended, 1);
	expect_long(guarded.word, 0);
	lock_free_of_dead(&guarded);
	expect_long(mended, 1);
}

static u32 reused;
static bool released;

/* It was gone when it was asked for first. Then its name is another thread's, which has the lock or has had it. */
static bool was_gone(u32 name)
{
	static int asked;

	expect_long(name, reused);
	if (asked++ % 2 == 0)
		return true;
	if (released)
		guarded.word = 0;
	return false;
}

static void test_name_reused(void)
{
	lock_host = (struct lock_host){self, was_gone, mend};
	mended = 0;
	lock_init(&guarded, RANK_DBT);
	reused = LOCK_NOBODY + 1000;
	guarded.word = reused;
	lock_free_of_dead(&guarded);
	expect_long(guarded.word, reused | LOCK_WAITERS);
	released = true;
	lock_free_of_dead(&guarded);
	expect_long(guarded.word, 0);
	expect_long(mended, 0);
}

int main(void)
{
	alarm(50);
	test_threads();
	test_dead();
	test_name_reused();
	return unit_result();
}
