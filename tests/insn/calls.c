/*
 * Call chains from the exact call stack (attr.config1 of pcl's cpu PMU): code without frame pointers, recursion, returns that never
 * come (longjmp, again and again), another stack in a signal handler. Needs pcl.
 */
#include <setjmp.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define RING (256 * 4096ul)
#define PERIOD 31
#define DEPTH 9
#define JUMPS 200000 /* more than the ring of calls has room for */

/* cs_outer(depth) calls cs_deep, which calls itself depth - 1 times and then spins. rbp is of no use in it. */
void cs_outer(long depth);
extern char cs_outer_back[], cs_deep[], cs_deep_back[], cs_leaf[], cs_leaf_end[], cs_last[];
__asm__(".text\n.p2align 4\n"
	"cs_outer:\n"
	"	push %rbp\n"
	"	mov $12345, %ebp\n"
	"	lea cs_deep(%rip), %rax\n"
	"	call *%rax\n"
	"cs_outer_back: pop %rbp\n"
	"	ret\n"
	"cs_deep: sub $24, %rsp\n"
	"	dec %edi\n"
	"	jz cs_leaf\n"
	"	call cs_deep\n"
	"cs_deep_back: add $24, %rsp\n"
	"	ret\n"
	"cs_leaf: mov $40, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"cs_leaf_end: add $24, %rsp\n"
	"	ret\n"
	"cs_last: nop\n");

static struct perf_event_mmap_page *page;
static long fd;
static unsigned long leaf_samples, samples;

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
		if (h->type == PERF_RECORD_SAMPLE && copy[1] >= (u64)cs_outer && copy[1] < (u64)cs_last) {
			expect(copy[3], (long)PERF_CONTEXT_USER);
			expect(copy[4], (long)copy[1]);
			check_chain(&copy[4], copy[2] - 1);
		}
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

static void other_stack(void)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	samples = leaf_samples = 0;
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		cs_outer(DEPTH);
	}
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain();
	expect(leaf_samples > 50, 1);
}

int main(void)
{
	struct perf_attr a = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(a),
		.exclude_kernel = 1,
		.config1 = 1,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
	};

	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	fd = perf_open(&a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("no exact call stacks here\n");
		return 77;
	}
	page = mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		return 1;
	run_outer();
	jumps();
	run_outer();
	other_stack();
	run_outer();
	return perf_result();
}
