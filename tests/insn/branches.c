/*
 * Branch stacks: code whose every branch is known is sampled at every few instructions. Each entry must be one of its
 * edges; each entry's target leads in a straight line to the next entry's branch, and the newest one's to the sample,
 * unless it is the sampled instruction itself; no taken branch is missing.
 * Needs a PMU with branch stacks.
 * covers for pcl: PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_COND,
 * PERF_SAMPLE_BRANCH_ANY_CALL, PERF_SAMPLE_BRANCH_ANY_RETURN, PERF_SAMPLE_BRANCH_IND_CALL,
 * PERF_SAMPLE_BRANCH_IND_JUMP, PERF_SAMPLE_BRANCH_CALL, PERF_RECORD_SAMPLE.from, PERF_RECORD_SAMPLE.to,
 * PERF_RECORD_SAMPLE.bnr, PERF_RECORD_SAMPLE.lbr
 */
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define PAGES 256
#define RING (PAGES * 4096ul)
#define ROUNDS 300
#define PERIOD 7

/*
 * All kinds of branches. The caller's edges in and out are the call to br_start and its ret.
 */
void br_start(long rounds);
__asm__(".text\n.p2align 6\n.globl br_start\n"
	"br_start:\n"
	"	push %rbx\n"
	"	push %rdi\n"
	"br_round:\n"
	"	mov $3, %ecx\n"
	"br_loop_head: nop\n"
	"br_loop: loop br_loop_head\n"
	"br_jrcxz: jrcxz br_zero\n" /* taken */
	"	ud2\n"
	"br_zero: test $1, %dil\n"
	"br_jcc: jz br_even\n" /* every second time */
	"	nop\n"
	"br_jmp: jmp br_joined\n"
	"	ud2\n"
	"br_even: nop\n"
	"br_joined: xor %eax, %eax\n"
	"br_never: jnz br_start\n" /* never */
	"br_call: call br_leaf\n"
	"br_called: lea br_leaf(%rip), %rax\n"
	"br_call_ind: call *%rax\n"
	"br_called_ind: lea br_jump_target(%rip), %rax\n"
	"br_jmp_ind: jmp *%rax\n"
	"	ud2\n"
	"br_jump_target: mov $3, %ebx\n"
	"br_call_deep: call br_deep\n"
	"br_called_deep: dec %rdi\n"
	"br_again: jnz br_round\n"
	"	pop %rdi\n"
	"	pop %rbx\n"
	"br_end: ret\n"
	"br_leaf: nop\n"
	"br_leaf_ret: ret\n"
	"br_deep: dec %ebx\n"
	"br_deep_out: jz br_deep_ret\n"
	"br_deep_call: call br_deep\n"
	"br_deep_back: nop\n"
	"br_deep_ret: ret $0\n"
	"br_last: nop\n");

#define LABEL(name) extern char name[]
LABEL(br_round); LABEL(br_loop_head); LABEL(br_loop); LABEL(br_jrcxz); LABEL(br_zero); LABEL(br_jcc); LABEL(br_jmp);
LABEL(br_even);
LABEL(br_joined);
LABEL(br_call);
LABEL(br_called);
LABEL(br_call_ind);
LABEL(br_called_ind);
LABEL(br_jmp_ind);
LABEL(br_jump_target); LABEL(br_call_deep); LABEL(br_called_deep); LABEL(br_again); LABEL(br_end); LABEL(br_leaf);
LABEL(br_leaf_ret);
LABEL(br_deep);
LABEL(br_deep_out);
LABEL(br_deep_call);
LABEL(br_deep_back);
LABEL(br_deep_ret);
LABEL(br_last);

enum { COND, JMP, CALL, RET, IND, IND_CALL };

static const struct edge {
	char *from, *to;
	int kind;
} edges[] = {
	{br_loop, br_loop_head, COND},	     {br_jrcxz, br_zero, COND},		{br_jcc, br_even, COND},
	{br_jmp, br_joined, JMP},	     {br_call, br_leaf, CALL},		{br_leaf_ret, br_called, RET},
	{br_leaf_ret, br_called_ind, RET},   {br_call_ind, br_leaf, IND_CALL},	{br_jmp_ind, br_jump_target, IND},
	{br_call_deep, br_deep, CALL},       {br_deep_call, br_deep, CALL},     {br_deep_ret, br_called_deep, RET},
	{br_deep_ret, br_deep_back, RET},    {br_deep_out, br_deep_ret, COND},	{br_again, br_round, COND},
};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

struct entry {
	u64 from, to;
	u64 flags;
};

static struct perf_event_mmap_page *page;
static char copy[8192];
static unsigned long seen[EDGES], samples;
static void (*start)(long rounds) = br_start;
static u64 moved; /* how much further up than linked the code runs */

static int inside(u64 addr)
{
	return addr >= (u64)br_start && addr < (u64)br_last;
}

static int edge_of(const struct entry *b)
{
	for (unsigned i = 0; i < EDGES; i++)
		if (b->from == (u64)edges[i].from && b->to == (u64)edges[i].to)
			return (int)i;
	return -1;
}

/* Whether execution can go on from one place to another without a taken branch. */
static int straight(u64 from, u64 to)
{
	static char *const never_passed[] = {br_jmp,      br_jmp_ind,  br_call,      br_call_ind, br_call_deep,
					     br_end,	  br_leaf_ret, br_deep_call, br_deep_ret, br_jrcxz};

	if (from > to)
		return 0;
	for (unsigned i = 0; i < sizeof(never_passed) / sizeof(never_passed[0]); i++)
		if (from <= (u64)never_passed[i] && (u64)never_passed[i] < to)
			return 0;
	return 1;
}

/* Entries are newest first. all: of every kind, so that they connect. */
static void check_sample(u64 ip, const struct entry *b, u64 n, unsigned kinds, int all)
{
	u64 next = ip;

	for (u64 i = 0; i < n; i++) {
		int e;

		if (!inside(b[i].from) || b[i].from == (u64)br_end) /* from an earlier call */
			break;
		e = edge_of(&b[i]);
		expect(e >= 0, 1);
		if (e < 0)
			break;
		seen[e]++;
		expect(kinds >> edges[e].kind & 1, 1);
		if (all)
			expect(straight(b[i].to, next) || (!i && b[i].from == ip), 1);
		next = b[i].from;
	}
	samples++;
}

static void move_back(struct entry *b, u64 n)
{
	for (u64 i = 0; i < n; i++) {
		b[i].from -= moved;
		b[i].to -= moved;
	}
}

static void drain(unsigned kinds, int all)
{
	const char *data = (const char *)page + 4096;
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(data + tail % RING);
		u64 *w = (void *)copy;

		for (u64 i = 0; i < h->size && i < sizeof(copy); i += 8)
			*(u64 *)(copy + i) = *(const u64 *)(data + (tail + i) % RING);
		if (h->type == PERF_RECORD_SAMPLE && inside(w[1] - moved)) {
			move_back((struct entry *)&w[3], w[2]);
			check_sample(w[1] - moved, (const struct entry *)&w[3], w[2], kinds, all);
		}
		expect(h->type != PERF_RECORD_LOST, 1);
		tail += h->size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static struct perf_attr attr_of(u64 filter)
{
	return (struct perf_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(struct perf_attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = filter | PERF_SAMPLE_BRANCH_USER,
		.disabled = 1,
	};
}

static void sample(u64 filter, unsigned kinds, int all)
{
	struct perf_attr a = attr_of(filter);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(fd >= 0, 1);
	page = mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		exit(1);
	memset(seen, 0, sizeof(seen));
	samples = 0;
	for (int i = 0; i < ROUNDS / 10; i++) {
		perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		start(10);
		perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		drain(kinds, all);
	}
	expect(samples > ROUNDS, 1);
	for (unsigned i = 0; i < EDGES; i++)
		expect(!!seen[i], kinds >> edges[i].kind & 1);
	munmap(page, 4096 + RING);
	close((int)fd);
}

/* The same code where its addresses do not fit into 32 bits. */
static void move_far(void)
{
	char *far = mmap((void *)0x600000000000ul, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	expect(far != MAP_FAILED, 1);
	if (far == MAP_FAILED)
		exit(1);
	memcpy(far, br_start, (size_t)(br_last - (char *)br_start));
	moved = (u64)far - (u64)br_start;
	start = (void (*)(long))far;
}

int main(void)
{
	if (perf_try(attr_of(PERF_SAMPLE_BRANCH_ANY), 0, -1, -1, 0)) {
		printf("no branch stacks here\n");
		return 77;
	}
	sample(PERF_SAMPLE_BRANCH_ANY, ~0u, 1);
	sample(PERF_SAMPLE_BRANCH_COND, 1 << COND, 0);
	sample(PERF_SAMPLE_BRANCH_ANY_CALL, 1 << CALL | 1 << IND_CALL, 0);
	sample(PERF_SAMPLE_BRANCH_ANY_RETURN, 1 << RET, 0);
	sample(PERF_SAMPLE_BRANCH_IND_CALL, 1 << IND_CALL, 0);
	sample(PERF_SAMPLE_BRANCH_IND_JUMP, 1 << IND, 0);
	sample(PERF_SAMPLE_BRANCH_CALL, 1 << CALL, 0);
	move_far();
	sample(PERF_SAMPLE_BRANCH_ANY, ~0u, 1);
	sample(PERF_SAMPLE_BRANCH_IND_JUMP, 1 << IND, 0);
	return perf_result();
}
