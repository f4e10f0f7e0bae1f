/*
 * Threads run code, small and with indirect calls, and are interrupted by signals, while another one asks for addresses
 * below 2 GiB, which pcl's code cache must leave: with mmap, mremap and shmat, and in the child of a fork.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS	24
#define MIB	0x100000ul
#define PLACES	(sizeof(place) / sizeof(place[0]))

static const unsigned long place[] = {0x30000000, 0x48000000, 0x38000000, 0x60000000, 0x6c000000,
				      0x50000000, 0x58000000, 0x74000000, 0x40000000};
static volatile int stop, signals;

static unsigned long add(unsigned long x)
{
	return x + 3;
}

static unsigned long mix(unsigned long x)
{
	return x * 7 ^ x >> 9;
}

static unsigned long (*volatile functions[])(unsigned long) = {add, mix};

static unsigned long work(void)
{
	unsigned long x = 1;

	for (int i = 0; i < 3000; i++)
		x = functions[i & 1](x);
	return x;
}

static void *run(void *want)
{
	while (!stop)
		if (work() != *(unsigned long *)want)
			return (void *)1;
	return NULL;
}

static void on_alarm(int sig)
{
	signals += sig == SIGALRM;
}

/* Somewhere in the middle of a half. */
static int use(void *want, void *got, const char *what)
{
	if (got != want || memset(got, 1, 4096) != got) {
		fprintf(stderr, "%s at %p gives %p\n", what, want, got);
		return 1;
	}
	munmap(want, MIB);
	return 0;
}

static int take(unsigned long at, int round)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *old, *want = (void *)(at + (unsigned long)round * MIB), *got;
	int id;

	switch (round % 3) {
	case 0:
		return use(want, mmap(want, MIB, prot, flags | MAP_FIXED, -1, 0), "MAP_FIXED");
	case 1:
		old = mmap(NULL, MIB, prot, flags, -1, 0);
		return use(want, mremap(old, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, want), "mremap");
	}
	id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	got = id < 0 ? MAP_FAILED : shmat(id, want, 0);
	shmctl(id, IPC_RMID, NULL);
	return use(want, got, "shmat");
}

static int child(int round)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(take(place[(unsigned)(round + 1) % PLACES], round) || work() != work());
	return waitpid(pid, &status, 0) != pid || status;
}

int main(void)
{
	const struct itimerval timer = {{0, 700}, {0, 700}};
	unsigned long want = work();
	pthread_t thread[THREADS];
	int bad = 0;
	void *ret;

	signal(SIGALRM, on_alarm);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run, &want))
			return 1;
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int round = 0; round < ROUNDS && !bad; round++) {
		bad = take(place[(unsigned)round % PLACES], round) || work() != want ||
		      (round % 5 == 0 && child(round));
		usleep(1000);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &ret);
		bad |= !!ret;
	}
	return bad || !signals;
}
