/*
 * Samples in a storm of signals: a loop of known shape is interrupted by a timer again and again, in the middle of
 * countdowns, of single steps and of handlers. Each sample in the loop tells its place there and the rounds that are
 * left (rdi), so it is known how much of the loop was executed between two samples. The rest is handlers, each of
 * HANDLER instructions: one sample that is late or early by an instruction leaves a rest that is no multiple of that.
 */
#include <asm/perf_regs.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include "tests/abi/sampling.h"

#define LOOP	13 /* instructions of a round, on either way through it */
#define HANDLER 5  /* with libc's way back: mov, syscall */
#define ROUNDS	50000ul
#define CHUNKS	8
#define OUTSIDE (~0ul)

__asm__("	.text\n"
	"storm_loop:\n"
	"	lea 1(%rax), %rax\n"
	"	test $1, %al\n"
	"	jz 1f\n"
	"	add %rax, %rdx\n"
	"	jmp 2f\n"
	"1:	sub %rax, %rdx\n"
	"	jmp 2f\n"
	"2:	push %rdx\n"
	"	pop %rcx\n"
	"	add $1, %rsi\n"
	"	cmp $0, %rsi\n"
	"	lea (%rdx,%rcx), %rdx\n"
	"	xor %rcx, %rdx\n"
	"storm_dec:\n"
	"	dec %rdi\n"
	"storm_jnz:\n"
	"	jnz storm_loop\n"
	"	ret\n"
	"storm_handler:\n"
	"	lock incq storm_count(%rip)\n"
	"	nop\n"
	"	ret\n"
	"	.data\n"
	"storm_count: .quad 0\n"
	"	.text\n");
u64 storm_loop(u64 rounds);
extern const char storm_dec[], storm_jnz[];
void storm_handler(int signo);
extern volatile u64 storm_count;

struct loop_sample {
	struct perf_event_header header;
	u64 ip, abi, rdi;
};

/* Of the loop's instructions in front of storm_dec, by their offsets: which one of a round it is. */
static u64 place_of(u64 offset)
{
	static const u8 length[] = {4, 2, 2, 3, 2, 3, 2, 1, 1, 4, 4, 4, 3};
	static const u8 place[] = {0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 8, 9, 10};
	u64 at = 0;

	for (u32 i = 0; i < sizeof(length); at += length[i++])
		if (at == offset)
			return place[i];
	return OUTSIDE;
}

/* How many instructions of the loop were executed before the sample's, or OUTSIDE. */
static u64 done_before(const struct loop_sample *s, u64 rounds)
{
	u64 done = (rounds - s->rdi) * LOOP, place;

	if (s->ip == (u64)storm_dec)
		return done + LOOP - 2;
	if (s->ip == (u64)storm_jnz)
		return done - 1;
	place = place_of(s->ip - (u64)storm_loop);
	return place == OUTSIDE ? OUTSIDE : done + place;
}

/* Takes all samples. handlers: how many may have run, at most. Returns how many samples were in the loop. */
static u64 check_samples(struct sampler *s, u64 period, u64 rounds, u64 handlers)
{
	const char *data = (const char *)s->page + 4096;
	u64 tail = s->page->data_tail, last = 0, last_done = OUTSIDE, seen = 0, in_loop = 0, inserted = 0;

	for (; tail < s->page->data_head; tail += sizeof(struct loop_sample), seen++) {
		const struct loop_sample *r = (const void *)(data + tail % (RING_PAGES * 4096));
		u64 done = done_before(r, rounds), rest;

		expect(r->header.type, PERF_RECORD_SAMPLE);
		expect(r->header.size, sizeof(*r));
		if (done == OUTSIDE)
			continue;
		in_loop++;
		rest = (seen - last) * period - (done - last_done);
		if (last_done != OUTSIDE) {
			expect((long)rest >= 0 && rest % HANDLER == 0, 1);
			inserted += rest / HANDLER;
		}
		last = seen;
		last_done = done;
	}
	expect(inserted <= handlers, 1);
	s->page->data_tail = tail;
	return in_loop;
}

static struct sampler open_event(u64 config, u64 period)
{
	struct perf_attr a = insns_attr(period);

	a.config = config;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER;
	a.sample_regs_user = 1ul << PERF_REG_X86_DI;
	return sampler_open(&a, -1);
}

static void set_timer(long us)
{
	struct itimerval t = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

/* The branches' samples only get in the way. */
static void test_period(u64 period, u64 branches)
{
	struct sampler s = open_event(PERF_COUNT_HW_INSTRUCTIONS, period),
		       b = open_event(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, branches);
	u64 rounds = MIN(ROUNDS, period * 7000 / LOOP), in_loop = 0, before = 0, samples = 0;

	perf_ioctl(b.fd, PERF_EVENT_IOC_ENABLE, 0);
	set_timer(150);
	for (u32 i = 0; i < CHUNKS; i++) {
		u64 handlers = storm_count;

		perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
		storm_loop(rounds);
		perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
		before = s.page->data_tail;
		in_loop += check_samples(&s, period, rounds, storm_count - handlers);
		samples += (s.page->data_tail - before) / sizeof(struct loop_sample);
		b.page->data_tail = b.page->data_head;
	}
	set_timer(0);
	expect(samples, perf_value(s.fd) / (long)period);
	expect(in_loop > samples / 2, 1);
	sampler_close(&b);
	sampler_close(&s);
}

/* Without signals: each period from where it was set, but for the samples before that. */
static void test_new_periods(void)
{
	struct sampler s = open_event(PERF_COUNT_HW_INSTRUCTIONS, 1000);

	for (u64 period = 1; period < 5000; period += 1 + period / 3) {
		perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
		perf_ioctl(s.fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
		storm_loop(500);
		perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
		expect(check_samples(&s, period, 500, 0) >= 500 * LOOP / period - 1, 1);
	}
	sampler_close(&s);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = storm_handler};

	if (!have_pmu()) {
		puts("no hardware counters");
		return 77;
	}
	sigaction(SIGALRM, &sa, NULL);
	test_period(101, 1009);
	test_period(7, 53);
	test_period(1, 100003);
	test_period(1009, 1);
	test_period(40009, 977);
	test_new_periods();
	expect(storm_count > 20, 1);
	return perf_result();
}
