/*
 * PERF_SAMPLE_CALLCHAIN by frame pointers: of code whose frames are known, each chain is exactly the frames that there
 * are; no more than sample_max_stack; none with exclude_callchain_user; a frame pointer that leads nowhere ends it, one
 * that leads in a circle fills it.
 * covers: attr.sample_max_stack, attr.exclude_callchain_user, PERF_SAMPLE_CALLCHAIN, PERF_RECORD_SAMPLE.nr,
 * PERF_RECORD_SAMPLE.ips
 */
#include "tests/abi/sampling.h"

/*
 * cc_outer(n, rbp) makes a frame, calls cc_middle, which makes one and calls cc_leaf, which makes one and spins n
 * times. If rbp is not 0, it stands in for the next frame of cc_outer's.
 */
void cc_outer(long n, void *rbp);
extern char cc_outer_back[], cc_middle_back[], cc_spin[], cc_spun[];
__asm__(".text\n"
	"cc_outer: push %rbp\n"
	"	test %rsi, %rsi\n"
	"	jz 1f\n"
	"	mov %rsi, (%rsp)\n"
	"1:	mov %rbp, %rdx\n"
	"	mov %rsp, %rbp\n"
	"	push %rdx\n"
	"	call cc_middle\n"
	"cc_outer_back: pop %rbp\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"cc_middle: push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call cc_leaf\n"
	"cc_middle_back: pop %rbp\n"
	"	ret\n"
	"cc_leaf: push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rdi, %rcx\n"
	"cc_spin: dec %rcx\n"
	"	jnz cc_spin\n"
	"cc_spun: pop %rbp\n"
	"	ret\n");

#define SPINS 50000000
#define DEFAULT_DEPTH 127 /* perf_event_max_stack */

/* The last sample in cc_leaf's loop: its chain. */
struct chain {
	u64 samples, n, ip[256];
};

static struct perf_attr chain_attr(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	if (have_pmu()) {
		a = insns_attr(100003);
	} else {
		a.sample_period = 500000;
		a.disabled = 1;
	}
	a.exclude_kernel = 1;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	return a;
}

static void take(const struct perf_event_header *h, struct chain *out)
{
	const u64 *word = (const void *)(h + 1);
	bool same = out->samples && out->n == word[1];

	if (word[0] < (u64)cc_spin || word[0] >= (u64)cc_spun)
		return;
	/* All chains of one run are the same but for the ip. */
	for (u64 i = 2; same && i < out->n; i++)
		same = out->ip[i] == word[2 + i];
	expect(!out->samples || same, 1);
	out->samples++;
	out->n = word[1];
	expect(out->n <= 256, 1);
	for (u64 i = 0; i < out->n && i < 256; i++)
		out->ip[i] = word[2 + i];
	if (out->n > 1)
		expect(out->ip[1], (long)word[0]);
}

static struct chain sample_chain(struct perf_attr *a, void *rbp)
{
	static char copy[65536];
	struct sampler s = sampler_open(a, -1);
	const char *data = (const char *)s.page + 4096;
	struct chain c = {0, 0, {0}};
	u64 head;

	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	cc_outer(SPINS, rbp);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	head = __atomic_load_n(&s.page->data_head, __ATOMIC_ACQUIRE);
	/* The ring is large enough for some: those that were lost do not matter. */
	for (u64 tail = 0; tail < head;) {
		const struct perf_event_header *h = (const void *)(data + tail % (RING_PAGES * 4096));
		u64 size = h->size;

		for (u64 i = 0; i < size; i += 8)
			*(u64 *)(copy + i) = *(const u64 *)(data + (tail + i) % (RING_PAGES * 4096));
		if (((struct perf_event_header *)copy)->type == PERF_RECORD_SAMPLE)
			take((const void *)copy, &c);
		tail += size;
	}
	expect(c.samples > 5, 1);
	sampler_close(&s);
	return c;
}

static void whole_chain(void)
{
	struct perf_attr a = chain_attr();
	struct chain c = sample_chain(&a, NULL);

	expect(c.n >= 4 && c.n <= DEFAULT_DEPTH + 1, 1);
	expect(c.ip[0], (long)PERF_CONTEXT_USER);
	expect(c.ip[2], (long)cc_middle_back);
	expect(c.ip[3], (long)cc_outer_back);
}

static void limited(void)
{
	struct perf_attr a = chain_attr();
	struct chain c;

	a.sample_max_stack = 2;
	c = sample_chain(&a, NULL);
	expect(c.n, 3); /* the marker is not one of them */
	expect(c.ip[2], (long)cc_middle_back);
}

static void without_user(void)
{
	struct perf_attr a = chain_attr();

	a.exclude_callchain_user = 1;
	expect(sample_chain(&a, NULL).n, 0);
}

static void bad_frames(void)
{
	static u64 circle[2] = {0, 0x1234};
	struct perf_attr a = chain_attr();
	struct chain c;

	c = sample_chain(&a, (void *)8);
	expect(c.n, 5); /* the caller of cc_outer is known by cc_outer's frame */
	circle[0] = (u64)circle;
	c = sample_chain(&a, circle);
	expect(c.n, DEFAULT_DEPTH + 1);
	expect(c.ip[5], 0x1234);
	expect(c.ip[DEFAULT_DEPTH], 0x1234);
}

int main(void)
{
	whole_chain();
	limited();
	without_user();
	bad_frames();
	return perf_result();
}
