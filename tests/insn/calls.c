/*
 * Call chains from the exact call stack (attr.config1 of pcl's cpu PMU), and the same as branches
 * (PERF_SAMPLE_BRANCH_CALL_STACK): code without frame pointers, recursion, returns that never come (longjmp, again and
 * again), signal handlers on the same and on another stack. Needs pcl.
 * covers for pcl: PERF_SAMPLE_BRANCH_CALL_STACK, attr.config1
 */
#include <setjmp.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define RING (256 * 4096ul)
#define PERIOD 31
#define DEPTH 9
#define JUMPS 200000 /* more than the ring of calls has room for */

/*
 * cs_outer(depth) calls cs_deep, which calls itself depth - 1 times and then spins. rbp is of no use in it.
 * cs_trip(tid) calls cs_kill, which sends the thread a signal and spins then.
 */
void cs_outer(long depth);
void cs_trip(long tid);
extern char cs_outer_call[], cs_outer_back[], cs_deep[], cs_deep_call[], cs_deep_back[], cs_leaf[], cs_leaf_end[],
	cs_last[], cs_trip_back[], cs_killed[], cs_kill_end[];
__asm__(".text\n.p2align 4\n"
	"cs_outer:\n"
	"	push %rbp\n"
	"	mov $12345, %ebp\n"
	"	lea cs_deep(%rip), %r9\n"
	"cs_outer_call: call *%r9\n"
	"cs_outer_back: pop %rbp\n"
	"	ret\n"
	"cs_deep: sub $24, %rsp\n"
	"	dec %edi\n"
	"	jz cs_leaf\n"
	"cs_deep_call: call cs_deep\n"
	"cs_deep_back: add $24, %rsp\n"
	"	ret\n"
	"cs_leaf: mov $40, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"cs_leaf_end: add $24, %rsp\n"
	"	ret\n"
	"cs_last: nop\n"
	"cs_trip: sub $40, %rsp\n"
	"	call cs_kill\n"
	"cs_trip_back: add $40, %rsp\n"
	"	ret\n"
	"cs_kill: mov $200, %eax\n"
	"	mov $10, %esi\n"
	"	syscall\n"
	"cs_killed: mov $40, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"cs_kill_end: ret\n");

static struct perf_event_mmap_page *page;
static long fd;
static unsigned long leaf_samples, samples, handler_samples, killed_samples;
static bool in_handler; /* all that is sampled in cs_outer is called by the handler */
static bool as_branches;

/* A chain without its context marker: the ip, then return addresses. */
static void check_chain(const u64 *chain, u64 n)
{
	u64 ip = chain[0], deep = 0, i = 1;

	samples++;
	while (i < n && chain[i] == (u64)cs_deep_back) {
		i++;
		deep++;
	}
	if (ip >= (u64)cs_deep)
		expect(i < n && chain[i] == (u64)cs_outer_back, 1);
	expect(deep < DEPTH, 1);
	if (ip < (u64)cs_leaf || ip >= (u64)cs_leaf_end)
		return;
	leaf_samples++;
	expect(deep, DEPTH - 1);
	expect(n > i + 1, 1); /* who called cs_outer */
	if (!in_handler)
		return;
	/* Behind on_signal() and what its return leads to, the interrupted code and its callers. */
	handler_samples++;
	expect(n > i + 5, 1);
	expect(chain[i + 3], (long)cs_killed);
	expect(chain[i + 4], (long)cs_trip_back);
}

/* What the handler's return must not have spoilt. */
static void check_killed(const u64 *chain, u64 n)
{
	killed_samples++;
	expect(n > 2, 1);
	expect(chain[1], (long)cs_trip_back);
}

static void check_sample(u64 ip, u64 n, const u64 *chain)
{
	bool outer = ip >= (u64)cs_outer && ip < (u64)cs_last, killed = ip >= (u64)cs_killed && ip <= (u64)cs_kill_end;

	if (!outer && !killed)
		return;
	expect(chain[0], (long)PERF_CONTEXT_USER);
	expect(chain[1], (long)ip);
	if (outer)
		check_chain(&chain[1], n - 1);
	else
		check_killed(&chain[1], n - 1);
}

/* The calls as branches: newest first, from the call instruction to what it called. */
static void check_branches(u64 ip, const u64 *entry, u64 n)
{
	u64 i = 0;

	if (ip < (u64)cs_deep || ip >= (u64)cs_last)
		return;
	samples++;
	for (; i < n && entry[3 * i] == (u64)cs_deep_call; i++)
		expect(entry[3 * i + 1], (long)cs_deep);
	expect(n > i + 1, 1);
	expect(i < DEPTH, 1);
	if (ip >= (u64)cs_leaf)
		expect(i, DEPTH - 1);
	expect(entry[3 * i], (long)cs_outer_call);
	expect(entry[3 * i + 1], (long)cs_deep);
	expect(entry[3 * i + 4], (long)cs_outer);
}

static void drain(void)
{
	static u64 copy[4096];
	const char *data = (const char *)page + 4096;
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(data + tail % RING);
		u64 size = h->size;

		expect(h->type != PERF_RECORD_LOST, 1);
		for (u64 i = 0; i < size && i < sizeof(copy); i += 8)
			copy[i / 8] = *(const u64 *)(data + (tail + i) % RING);
		if (h->type == PERF_RECORD_SAMPLE && as_branches)
			check_branches(copy[1], &copy[3], copy[2]);
		else if (h->type == PERF_RECORD_SAMPLE)
			check_sample(copy[1], copy[2], &copy[3]);
		tail += size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static void run_outer(void)
{
	samples = leaf_samples = 0;
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 100; i++)
		cs_outer(DEPTH);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain();
	expect(samples > 100, 1);
	expect(leaf_samples > 50, 1);
}

static jmp_buf back;

__attribute__((noinline)) static void jump_back(void)
{
	longjmp(back, 1);
}

/* Two calls that do not return. */
__attribute__((noinline)) static void jump(void)
{
	jump_back();
	__asm__ volatile(""); /* no tail call */
}

/* Sampled seldom meanwhile, so that most of what is left behind is overwritten before anyone looks. */
static void jumps(void)
{
	unsigned long period = 3000000;

	perf_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (volatile int i = 0; i < JUMPS; i++)
		if (!setjmp(back))
			jump();
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain();
	period = PERIOD;
	perf_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
}

static void on_signal(int sig)
{
	cs_outer(DEPTH);
}

static void handlers(int flags)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};
	long tid = syscall(SYS_gettid);

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	samples = handler_samples = killed_samples = 0;
	in_handler = true;
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 50; i++)
		cs_trip(tid);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain();
	in_handler = false;
	expect(handler_samples > 50, 1);
	expect(killed_samples > 50, 1);
}

static void branches(void)
{
	samples = 0;
	as_branches = true;
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 100; i++)
		cs_outer(DEPTH);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain();
	expect(samples > 100, 1);
}

static void open_event(struct perf_attr *a)
{
	fd = perf_open(a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("no exact call stacks here\n");
		exit(77);
	}
	page = mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		exit(1);
}

int main(void)
{
	struct perf_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.config1 = 1,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
	};

	open_event(&a);
	run_outer();
	jumps();
	run_outer();
	handlers(0);
	handlers(SA_ONSTACK);
	run_outer();
	close((int)fd);
	a.config1 = 0;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_USER;
	open_event(&a);
	branches();
	return perf_result();
}
