/*
 * exceptions:page_fault_user: address, place and error code of each fault, also of fetches and of those that end in a
 * signal.
 * covers: PERF_TYPE_TRACEPOINT
 */
#include <setjmp.h>
#include <signal.h>
#include "tests/abi/tracepoint.h"

#define PAGE  4096ul
#define PAGES 8
/* So many bytes around a fault on a file become accessible with it: fault_around_bytes. */
#define AROUND 65536ul

/* Bits of the error code. */
#define PRESENT 1u
#define WRITE	2u
#define USER	4u
#define FETCH	16u

static struct tracer tracer;
static sigjmp_buf back;

static char *fresh(int prot)
{
	char *p = mmap(NULL, PAGES * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(p != MAP_FAILED, 1);
	madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static __attribute__((noinline)) void by_reading(char *p)
{
	__asm__ volatile("movb (%0), %%al" : : "r"(p) : "rax", "memory");
}

static __attribute__((noinline)) void by_writing(char *p)
{
	__asm__ volatile("movb $1, (%0)" : : "r"(p) : "memory");
}

static __attribute__((noinline)) void by_calling(char *p)
{
	__asm__ volatile("call *%0" : : "r"(p) : "memory", "rax");
}

/* Under pcl the question is asked around this one. */
static __attribute__((noinline)) void by_masking(char *p)
{
	__asm__ volatile("pcmpeqb %%xmm1, %%xmm1\n maskmovdqu %%xmm1, %%xmm0" : : "D"(p) : "xmm0", "xmm1", "memory");
}

/* Of these 16 bytes a Xeon mostly names the ninth. */
static u64 size_of(void (*how)(char *))
{
	return how == by_masking ? 16 : 1;
}

static void begin(void)
{
	struct traced t;

	while (tracer_next(&tracer, PERF_SAMPLE_RAW, 1, &t))
		;
	perf_ioctl(tracer.fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void end(void)
{
	perf_ioctl(tracer.fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* The next one, of an instruction within 32 bytes from ip; any of `size` bytes may be named, from address on. */
static void expect_fault(const char *what, const void *address, u64 size, const void *ip, u64 code)
{
	struct traced t;

	if (!tracer_next(&tracer, PERF_SAMPLE_RAW, 1, &t)) {
		printf("%s: there is no fault\n", what);
		expect(0, 1);
		return;
	}
	if ((u64)t.nr - (u64)address >= size || t.value[1] != code)
		printf("%s: %lx, code %lx, not %lx, code %lx\n", what, (u64)t.nr, t.value[1], (u64)address, code);
	expect(t.size, 36);
	expect(t.type, tracer.id);
	expect(t.pid, getpid());
	expect(t.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_KERNEL);
	expect((u64)t.nr - (u64)address < size, 1);
	expect(t.value[0] >= (u64)ip && t.value[0] < (u64)ip + 32, 1);
	expect(t.value[1], code);
}

static void expect_no_more(const char *what)
{
	struct traced t;

	if (!tracer_next(&tracer, PERF_SAMPLE_RAW, 1, &t))
		return;
	printf("%s: one more: %lx at %lx, code %lx\n", what, (u64)t.nr, t.value[0], t.value[1]);
	expect(0, 1);
}

#define DOES(how, p, code)                                                                                             \
	do {                                                                                                           \
		begin();                                                                                               \
		how(p);                                                                                                \
		end();                                                                                                 \
		if (code)                                                                                              \
			expect_fault(#how, p, size_of(how), (code) & FETCH ? p : (char *)how, code);                   \
		expect_no_more(#how);                                                                                  \
	} while (0)

/* It ends in a signal. */
#define FAILS(how, p, place, code)                                                                                     \
	do {                                                                                                           \
		if (!sigsetjmp(back, 1)) {                                                                             \
			begin();                                                                                       \
			how(p);                                                                                        \
		}                                                                                                      \
		end();                                                                                                 \
		expect_fault(#how " in vain", p, size_of(how), place, code);                                           \
		expect_no_more(#how " in vain");                                                                       \
	} while (0)

static void on_signal(int signo)
{
	(void)signo;
	siglongjmp(back, 1);
}

static void first_touches(void)
{
	char *p = fresh(PROT_READ | PROT_WRITE);

	DOES(by_reading, p, USER);
	DOES(by_reading, p, 0);
	DOES(by_writing, p, USER | WRITE | PRESENT); /* the page of zeroes is replaced */
	DOES(by_writing, p, 0);
	DOES(by_writing, p + PAGE, USER | WRITE);
	DOES(by_reading, p + PAGE, 0);
	DOES(by_masking, p + 2 * PAGE, USER | WRITE);
	DOES(by_reading, p + 3 * PAGE, USER);
	DOES(by_masking, p + 3 * PAGE, USER | WRITE | PRESENT);
	munmap(p, PAGES * PAGE);
}

static void denied(void)
{
	char *p = fresh(PROT_READ | PROT_WRITE);

	by_writing(p);
	mprotect(p, PAGES * PAGE, PROT_READ);
	FAILS(by_writing, p, (void *)by_writing, USER | WRITE | PRESENT);
	FAILS(by_writing, p + PAGE, (void *)by_writing, USER | WRITE);
	FAILS(by_calling, p, p, USER | FETCH | PRESENT);
	mprotect(p, PAGES * PAGE, PROT_NONE);
	FAILS(by_reading, p, (void *)by_reading, USER);
	FAILS(by_writing, p, (void *)by_writing, USER | WRITE);
	munmap(p, PAGES * PAGE);
	FAILS(by_reading, p, (void *)by_reading, USER);
	FAILS(by_calling, p, p, USER | FETCH);
	FAILS(by_reading, (char *)8, (void *)by_reading, USER);
}

/* A file full of `ret`, of which two pieces become accessible one by one, and an instruction in both. */
static char *map_code(void)
{
	static const char across[] = {0x48, (char)0xb8, 1, 2, 3,	 4,
				      5,    6,		7, 8, (char)0xc3}; /* movabs $..., %rax; ret */
	char path[] = "/tmp/tracepoint_faults.XXXXXX", ret[AROUND], *p;
	int fd = mkstemp(path);

	expect(fd >= 0, 1);
	unlink(path);
	memset(ret, 0xc3, sizeof(ret));
	expect(write(fd, ret, AROUND), (long)AROUND);
	expect(write(fd, ret, AROUND), (long)AROUND);
	expect(pwrite(fd, across, sizeof(across), AROUND - 4), (long)sizeof(across));
	p = mmap(NULL, 3 * AROUND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p += -(u64)p % AROUND;
	p = mmap(p, 2 * AROUND, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	expect(p != MAP_FAILED, 1);
	close(fd);
	return p;
}

static void fetches(void)
{
	char *p = map_code();

	DOES(by_calling, p + 3, USER | FETCH);
	DOES(by_calling, p + PAGE, 0);
	begin();
	by_calling(p + AROUND - 4);
	end();
	expect_fault("across", p + AROUND, 1, p + AROUND - 4, USER | FETCH);
	expect_no_more("across");
	munmap(p, 2 * AROUND);
	p = map_code();
	DOES(by_reading, p + PAGE, USER);
	DOES(by_calling, p, 0);
	DOES(by_calling, p + AROUND - PAGE, 0); /* what is in the next page is not looked at */
	DOES(by_calling, p + AROUND - 5, 0);
	DOES(by_calling, p + AROUND + 9, USER | FETCH);
	munmap(p, 2 * AROUND);
}

/* Counts, and with a filter. */
static void counts(void)
{
	struct perf_attr a = trace_attr("exceptions/page_fault_user");
	long all = trace_open(a, 0), writes = trace_open(a, 0), user;
	char *p = fresh(PROT_READ | PROT_WRITE);

	a.exclude_kernel = 1;
	user = trace_open(a, 0);
	expect(ioctl((int)writes, PERF_EVENT_IOC_SET_FILTER, "error_code == 6"), 0);
	perf_ioctl(all, PERF_EVENT_IOC_RESET, 0);
	perf_ioctl(writes, PERF_EVENT_IOC_RESET, 0);
	for (int i = 0; i < PAGES; i++)
		(i % 4 ? by_writing : by_reading)(p + (u64)i * PAGE);
	perf_ioctl(all, PERF_EVENT_IOC_DISABLE, 0);
	expect(perf_value(writes), PAGES - PAGES / 4);
	expect(perf_value(all), PAGES);
	expect(perf_value(user), 0);
	close((int)all);
	close((int)writes);
	close((int)user);
	munmap(p, PAGES * PAGE);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	trace_skip_without();
	sigaction(SIGSEGV, &sa, NULL);
	tracer = tracer_open("exceptions/page_fault_user", PERF_SAMPLE_RAW);
	for (int i = 0; i < 2; i++) { /* at first some are of the program's own code and data */
		failures = checks = 0;
		first_touches();
		denied();
		fetches();
		counts();
	}
	tracer_close(&tracer);
	return perf_result();
}
