/*
 * PERF_SAMPLE_ADDR and DATA_SRC of the cpu PMU's events: every instruction of a piece of code is sampled, once as an
 * instruction, once as one that loads, once as one that stores; the address is that of the access that is meant, and 0
 * where there is none. Needs pcl.
 * covers for pcl: PERF_MEM_OP_LOAD, PERF_MEM_OP_STORE, PERF_RECORD_SAMPLE.addr, PERF_RECORD_SAMPLE.data_src,
 * PERF_TYPE_RAW
 */
#include <asm/perf_regs.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define RING (256 * 4096ul)
#define ROUNDS 50
#define RAW_LOADS 0x20
#define RAW_STORES 0x21

/* da_run(memory): uses 1024 bytes of it. */
void da_run(char *memory);
u64 da_word = 1;
extern char da_callee[];
char *da_pointer = da_callee;
__asm__(".text\n.p2align 4\n"
	"da_run: mov %rdi, %r10\n"
	"	mov $5, %ecx\n"
	"da_load: mov 8(%r10), %rax\n"
	"da_store: mov %rax, 16(%r10)\n"
	"da_both: add %rax, 24(%r10)\n"
	"da_index: movzbl 3(%r10,%rcx,4), %edx\n"
	"da_rip: mov da_word(%rip), %r8\n"
	"da_push: push %rax\n"
	"da_pop: pop %rax\n"
	"da_push_memory: push 32(%r10)\n"
	"	pop %rax\n"
	"	lea 64(%r10), %rsi\n"
	"	lea 72(%r10), %rdi\n"
	"da_movs: movsq\n"
	"	lea 512(%r10), %rdi\n"
	"	mov $100, %ecx\n"
	"da_rep: rep stosb\n"
	"da_rep_none: rep stosb\n"
	"da_lea: lea 8(%r10), %rax\n"
	"da_nop: nopl 8(%r10)\n"
	"da_prefetch: prefetcht0 8(%r10)\n"
	"da_thread: mov %fs:0, %rax\n"
	"da_vector_load: movups 40(%r10), %xmm0\n"
	"da_vector_store: movups %xmm0, 56(%r10)\n"
	"	lea 128(%r10), %r11\n"
	"da_r11: mov %r11, 8(%r11)\n"
	"	mov $16, %r11d\n"
	"da_r11_index: mov (%r10,%r11,2), %al\n"
	"da_call: call *da_pointer(%rip)\n"
	"da_end: ret\n"
	"da_callee: nop\n"
	"da_ret: ret\n");

#define LABEL(name) extern char name[]
LABEL(da_load);
LABEL(da_store);
LABEL(da_both);
LABEL(da_index);
LABEL(da_rip);
LABEL(da_push);
LABEL(da_pop);
LABEL(da_push_memory);
LABEL(da_movs); LABEL(da_rep); LABEL(da_rep_none); LABEL(da_lea); LABEL(da_nop); LABEL(da_prefetch); LABEL(da_thread);
LABEL(da_vector_load); LABEL(da_vector_store); LABEL(da_r11); LABEL(da_r11_index);
LABEL(da_call); LABEL(da_end); LABEL(da_ret);

static char memory[4096];

/*
 * Addresses: 0 none; IN_MEMORY(n); ON_STACK(n) from the stack pointer; THREAD, of the thread's block; others as they
 * are.
 */
#define IN_MEMORY(n) (1ul << 62 | (n))
#define ON_STACK(n) (1ul << 61 | ((n) + 64))
#define THREAD (1ul << 60)

static const struct spot {
	char *at;
	u64 load, store;
} spots[] = {
	{da_load, IN_MEMORY(8), 0},
	{da_store, 0, IN_MEMORY(16)},
	{da_both, IN_MEMORY(24), IN_MEMORY(24)},
	{da_index, IN_MEMORY(23), 0},
	{da_rip, (u64)&da_word, 0},
	{da_push, 0, ON_STACK(-8)},
	{da_pop, ON_STACK(0), 0},
	{da_push_memory, IN_MEMORY(32), ON_STACK(-8)},
	{da_movs, IN_MEMORY(64), IN_MEMORY(72)},
	{da_rep, 0, IN_MEMORY(512)},
	{da_rep_none, 0, 0},
	{da_lea, 0, 0},
	{da_nop, 0, 0},
	{da_prefetch, 0, 0},
	{da_thread, THREAD, 0},
	{da_vector_load, IN_MEMORY(40), 0},
	{da_vector_store, 0, IN_MEMORY(56)},
	{da_r11, 0, IN_MEMORY(136)},
	{da_r11_index, IN_MEMORY(32), 0},
	{da_call, (u64)&da_pointer, ON_STACK(-8)},
	{da_end, ON_STACK(0), 0},
	{da_ret, ON_STACK(0), 0},
};
#define SPOTS (sizeof(spots) / sizeof(spots[0]))

enum { ANY, LOADS, STORES };

/* PERF_SAMPLE_IP, ADDR, DATA_SRC and REGS_INTR with the stack pointer. */
struct sample {
	struct perf_event_header header;
	u64 ip, addr, data_src, abi, sp;
};

static struct perf_event_mmap_page *page;
static unsigned long seen[SPOTS];

static u64 address(u64 coded, u64 sp)
{
	if (coded & 1ul << 62)
		return (u64)memory + (coded & 0xffff);
	if (coded & 1ul << 61)
		return sp + (coded & 0xffff) - 64;
	return coded == THREAD ? (u64)__builtin_thread_pointer() : coded;
}

static void check_sample(const struct sample *s, int event)
{
	for (unsigned i = 0; i < SPOTS; i++) {
		bool store = event == STORES || (event == ANY && !spots[i].load);
		u64 op = s->data_src & 31, want = store ? spots[i].store : spots[i].load;

		if (s->ip != (u64)spots[i].at)
			continue;
		seen[i]++;
		if (s->addr != address(want, s->sp))
			printf("spot %u, event %d:\n", i, event);
		expect(s->addr, (long)address(want, s->sp));
		expect(op, !want ? PERF_MEM_OP_NA : store ? PERF_MEM_OP_STORE : PERF_MEM_OP_LOAD);
	}
}

static void drain(int event)
{
	const char *data = (const char *)page + 4096;
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(data + tail % RING);
		struct sample s;

		expect(h->type != PERF_RECORD_LOST, 1);
		for (u64 i = 0; i < sizeof(s); i += 8)
			*(u64 *)((char *)&s + i) = *(const u64 *)(data + (tail + i) % RING);
		if (h->type == PERF_RECORD_SAMPLE)
			check_sample(&s, event);
		tail += h->size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static void sample(struct perf_attr *a, int event)
{
	long fd = perf_open(a, 0, -1, -1, 0);

	expect(fd >= 0, 1);
	page = mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		exit(1);
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < ROUNDS; i++) {
		perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		da_run(memory);
		perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		drain(event);
	}
	for (unsigned i = 0; i < SPOTS; i++)
		if (event == ANY || (event == LOADS ? spots[i].load : spots[i].store))
			expect(seen[i], ROUNDS);
	munmap(page, 4096 + RING);
	close((int)fd);
}

int main(void)
{
	struct perf_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = 1ul << PERF_REG_X86_SP,
		.disabled = 1,
	};

	if (perf_try(a, 0, -1, -1, 0)) {
		printf("no hardware events here\n");
		return 77;
	}
	sample(&a, ANY);
	a.type = PERF_TYPE_RAW;
	a.config = RAW_LOADS;
	if (perf_try(a, 0, -1, -1, 0)) {
		printf("this PMU's raw events are others\n");
		return 77;
	}
	sample(&a, LOADS);
	a.config = RAW_STORES;
	sample(&a, STORES);
	return perf_result();
}
