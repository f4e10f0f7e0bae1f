/*
 * Restartable sequences: threads on two CPUs add to counters, push to and pop from lists, and compare and store, each
 * without atomic instructions on data of the CPU that they are on, while signals interrupt them, whose handlers move
 * them to the other CPU, and, where there are such events, instructions are sampled at a short period. Nothing is lost;
 * and the abort handlers run.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define NODES 64
#define CPUS 1024
#define DELAY 150 /* times round, inside a section */

struct node {
	struct node *next;
	unsigned long taken;
};

struct percpu {
	unsigned long count;  /* 0 */
	struct node *head;    /* 8 */
	unsigned long turn;   /* 16: 0 or 1 */
	unsigned long pad[5];
} __attribute__((aligned(64)));

static struct percpu cells[CPUS];
static struct node nodes[THREADS * NODES];
static unsigned period; /* 0: nothing is sampled */
static volatile int stop;

/* What a thread did. */
static struct worker {
	pthread_t thread;
	struct node *own[THREADS * NODES];
	unsigned long rounds, mine, set, unset, bad, given_up[4];
} worker[THREADS];

#define SECTION                                                                                                        \
	".pushsection __rseq_cs, \"aw\"\n"                                                                             \
	".balign 32\n"                                                                                                 \
	"3: .long 0, 0\n"                                                                                              \
	".quad 1f, 2f - 1f, 4f\n"                                                                                      \
	".popsection\n"                                                                                                \
	"lea 3b(%%rip), %%rax\n"                                                                                       \
	"mov %%rax, 8(%[rs])\n"                                                                                        \
	"1: mov 4(%[rs]), %%eax\n"                                                                                     \
	"shl $6, %%rax\n"                                                                                              \
	"	add %[cells], %%rax\n"
#define WAIT                                                                                                           \
	"mov %[delay], %%rdx\n"                                                                                        \
	"5: dec %%rdx\n"                                                                                               \
	"	jnz 5b\n"
#define END                                                                                                            \
	"2: mov $1, %[done]\n"                                                                                         \
	"jmp 6f\n"                                                                                                     \
	".byte 0x0f, 0xb9, 0x3d\n"                                                                                     \
	".long 0x53053053\n"                                                                                           \
	"4: xor %[done], %[done]\n"                                                                                    \
	"6:\n"
#define IN [rs] "r"(rs), [cells] "r"(cells), [delay] "ri"((long)DELAY)

static struct rseq *area(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static long add(struct rseq *rs)
{
	long done;

	__asm__ volatile(SECTION "	mov (%%rax), %%rcx\n" WAIT "	inc %%rcx\n"
				 "	mov %%rcx, (%%rax)\n" END
			 : [done] "=&r"(done)
			 : IN
			 : "rax", "rcx", "rdx", "cc", "memory");
	return done;
}

/* The same by way of r11, and the commit reads and writes memory. */
static long add_memory(struct rseq *rs)
{
	long done;

	__asm__ volatile(SECTION "	mov $1, %%r11d\n" WAIT "	add %%r11, (%%rax)\n" END
			 : [done] "=&r"(done)
			 : IN
			 : "rax", "r11", "rdx", "cc", "memory");
	return done;
}

static long push(struct rseq *rs, struct node *n)
{
	long done;

	__asm__ volatile(SECTION "	mov 8(%%rax), %%r11\n"
				 "	mov %%r11, (%[n])\n" WAIT "	mov %[n], 8(%%rax)\n" END
			 : [done] "=&r"(done)
			 : IN, [n] "r"(n)
			 : "rax", "r11", "rdx", "cc", "memory");
	return done;
}

/* 0: given up; *out NULL: there was none. */
static long pop(struct rseq *rs, struct node **out)
{
	struct node *n = NULL;
	long done;

	__asm__ volatile(SECTION "	mov 8(%%rax), %[n]\n"
				 "	test %[n], %[n]\n"
				 "	jz 2f\n" WAIT "	mov (%[n]), %%r11\n"
				 "	mov %%r11, 8(%%rax)\n" END
			 : [done] "=&r"(done), [n] "=&r"(n)
			 : IN
			 : "rax", "r11", "rdx", "cc", "memory");
	*out = n;
	return done;
}

/* Makes 1 of 0 and 0 of 1. The commit also writes r11. */
static long turn(struct rseq *rs, unsigned long *before)
{
	unsigned long old;
	long done;

	__asm__ volatile(SECTION "	mov 16(%%rax), %[old]\n"
				 "	mov $1, %%r11d\n"
				 "	test %[old], %[old]\n"
				 "	jz 7f\n"
				 "	neg %%r11\n"
				 "7:\n" WAIT "	xadd %%r11, 16(%%rax)\n" END
			 : [done] "=&r"(done), [old] "=&r"(old)
			 : IN
			 : "rax", "r11", "rdx", "cc", "memory");
	*before = old;
	return done;
}

static void on_signal(int sig)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu ? 0 : 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* On failure there is no such event natively. */
static int sample(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}


static void round_of(struct worker *w, struct rseq *rs, unsigned long i)
{
	unsigned long before;
	struct node *n;

	while (!(i & 1 ? add_memory(rs) : add(rs)))
		w->given_up[0]++;
	while (!turn(rs, &before))
		w->given_up[1]++;
	if (before > 1)
		w->bad++;
	(*(before ? &w->unset : &w->set))++;
	if (w->mine) {
		while (!push(rs, w->own[w->mine - 1]))
			w->given_up[2]++;
		w->mine--;
	}
	if (i % 4 == 3)
		sched_yield();
	while (!pop(rs, &n))
		w->given_up[3]++;
	if (n)
		w->own[w->mine++] = n;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rseq *rs = area();

	w->mine = NODES;
	for (int i = 0; i < NODES; i++)
		w->own[i] = &nodes[(w - worker) * NODES + i];
	if (period)
		sample();
	while (!stop)
		round_of(w, rs, w->rounds++);
	return NULL;
}

static void disturb(long milliseconds, long microseconds)
{
	struct timespec pause = { 0, microseconds * 1000 };

	for (long i = 0; i * microseconds < milliseconds * 1000; i++) {
		pthread_kill(worker[i % THREADS].thread, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	stop = 1;
}

static int check(void)
{
	unsigned long count = 0, rounds = 0, turns = 0, set = 0, unset = 0, bad = 0, given_up[4] = { 0 };
	static unsigned long seen[THREADS * NODES];

	memset(seen, 0, sizeof(seen));
	for (int c = 0; c < CPUS; c++) {
		count += cells[c].count;
		turns += cells[c].turn;
		for (struct node *n = cells[c].head; n && !seen[n - nodes]; n = n->next)
			seen[n - nodes]++;
	}
	for (int t = 0; t < THREADS; t++) {
		rounds += worker[t].rounds;
		set += worker[t].set;
		unset += worker[t].unset;
		bad += worker[t].bad;
		for (unsigned long i = 0; i < worker[t].mine; i++)
			seen[worker[t].own[i] - nodes]++;
		for (int i = 0; i < 4; i++)
			given_up[i] += worker[t].given_up[i];
	}
	for (int i = 0; i < THREADS * NODES; i++)
		bad += seen[i] != 1;
	printf("period %u: %lu rounds, given up %lu %lu %lu %lu\n", period, rounds, given_up[0], given_up[1],
	       given_up[2], given_up[3]);
	if (count == rounds && set - unset == turns && !bad && given_up[0] + given_up[1] + given_up[2] + given_up[3])
		return 0;
	printf("%lu of %lu counted, %lu set, %lu unset, %lu left, %lu bad\n", count, rounds, set, unset, turns, bad);
	return 1;
}

static int run(unsigned p, long milliseconds, long microseconds)
{
	memset(cells, 0, sizeof(cells));
	memset(worker, 0, sizeof(worker));
	period = p;
	stop = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&worker[i].thread, NULL, work, &worker[i]);
	disturb(milliseconds, microseconds);
	for (int i = 0; i < THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	return check();
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? strtol(argv[1], NULL, 0) : 500;
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	if (!__rseq_size) {
		printf("the C library has not registered a struct rseq\n");
		return 77;
	}
	sigaction(SIGUSR1, &sa, NULL);
	return run(0, ms, 100) | run(20, ms, 500) | run(1000, ms, 500);
}
