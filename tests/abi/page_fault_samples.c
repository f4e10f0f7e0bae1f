/*
 * A sample of each page fault: of the instruction that made it, with its registers, and of the data address; at that
 * moment, not later. Not of what the kernel touches in a system call, if that is excluded.
 * covers: PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_SAMPLE_ADDR
 */
#include "tests/abi/parse_sample.h"
#include "tests/abi/sampling.h"

#define PAGES 40
#define SIZE  (PAGES * 4096ul)
#define SAMPLES 512

#define REG_DI 5
#define REG_IP 8

struct fault {
	u64 ip, addr, rdi;
};

static struct fault seen[SAMPLES];
static int nseen;
static long fd, minor;
static struct perf_event_mmap_page *ring;

static struct perf_attr attr_of(u64 config)
{
	struct perf_attr a = perf_attr_sw(config);

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER;
	a.sample_regs_user = 1ul << REG_DI | 1ul << REG_IP;
	a.disabled = 1;
	return a;
}

/* ---- instructions at known places ---- */

#define CODE(name, body)                                                                                               \
	extern const char name##_end[];                                                                                \
	void name(char *p, u64 n);                                                                                     \
	__asm__(".text\n.p2align 6\n" #name ":\n" body "\n" #name "_end: nop")
#define EACH(insn) "1: " insn "\n lea 4096(%rdi), %rdi\n dec %rsi\n jnz 1b\n ret"

CODE(by_reading, EACH("mov 8(%rdi), %rax"));
CODE(by_writing, EACH("movb $1, 4095(%rdi)"));
CODE(by_changing, EACH("lock incl (%rdi)"));
CODE(by_vector, EACH("movups %xmm0, 64(%rdi)"));
CODE(by_index, "1: mov %rsi, %rax\n shl $12, %rax\n orb $1, -4096(%rdi,%rax)\n dec %rsi\n jnz 1b\n ret");
CODE(by_string, "mov %rsi, %rcx\n shl $9, %rcx\n xor %eax, %eax\n rep stosq\n ret");
CODE(backwards, "mov %rsi, %rcx\n shl $12, %rcx\n lea -1(%rdi,%rcx), %rdi\n std\n rep stosb\n cld\n ret");
CODE(by_copying, "mov %rsi, %rcx\n shl $8, %rcx\n shl $11, %rsi\n add %rdi, %rsi\n rep movsq\n ret");
CODE(by_search, "mov %rsi, %rcx\n shl $12, %rcx\n mov $1, %al\n repne scasb\n ret");
CODE(by_pushing, "mov %rsp, %rdx\n shl $12, %rsi\n lea (%rdi,%rsi), %rsp\n"
		 "1: push %rdx\n lea -4088(%rsp), %rsp\n cmp %rdi, %rsp\n ja 1b\n mov %rdx, %rsp\n ret");
CODE(across, "1: incq 4093(%rdi)\n lea 8192(%rdi), %rdi\n sub $2, %rsi\n jnz 1b\n ret");

static char *fresh(void)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(p != MAP_FAILED, 1);
	madvise(p, SIZE, MADV_NOHUGEPAGE);
	return p;
}

/* ---- what the ring has ---- */

static void take_samples(const struct perf_attr *a)
{
	const char *base = (const char *)ring + 4096;
	u64 head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), tail = ring->data_tail;

	nseen = 0;
	while (tail < head) {
		static union {
			struct perf_event_header header;
			char bytes[4096];
		} record;
		struct parsed p;
		u64 at = tail % (RING_PAGES * 4096ul);

		memcpy(record.bytes, base + at, sizeof(record.header));
		for (u64 i = 0; i < record.header.size; i++)
			record.bytes[i] = base[(at + i) % (RING_PAGES * 4096ul)];
		p = parse_sample(record.bytes, a);
		tail += record.header.size;
		expect(p.type, PERF_RECORD_SAMPLE);
		if (nseen < SAMPLES && p.regs_user) {
			expect(p.regs_user[1], p.ip);
			seen[nseen++] = (struct fault){p.ip, p.addr, p.regs_user[0]};
		}
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

static void begin(void)
{
	struct perf_attr a = attr_of(PERF_COUNT_SW_PAGE_FAULTS);

	take_samples(&a);
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_ioctl(minor, PERF_EVENT_IOC_ENABLE, 0);
}

static void end(void)
{
	struct perf_attr a = attr_of(PERF_COUNT_SW_PAGE_FAULTS);

	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(minor, PERF_EVENT_IOC_DISABLE, 0);
	take_samples(&a);
}

/* One fault in each page from the first one on, so many bytes into it, `by` at a time. */
static void expect_pages(const char *what, const char *p, long offset, int from, int n, int step, const void *code,
			 const char *code_end)
{
	if (nseen != n)
		printf("%s: %d samples\n", what, nseen);
	expect(nseen, n);
	for (int i = 0; i < MIN(n, nseen); i++) {
		const char *want = p + (from + i * step) * 4096l + offset;

		if ((const char *)seen[i].addr != want)
			printf("%s: sample %d\n", what, i);
		expect(seen[i].addr, (u64)want);
		expect(seen[i].ip >= (u64)code && seen[i].ip < (u64)code_end, 1);
	}
}

#define TOUCH(name, memory)                                                                                            \
	do {                                                                                                           \
		begin();                                                                                               \
		name(memory, PAGES);                                                                                   \
		end();                                                                                                 \
	} while (0)
#define EXPECT(name, offset, from, n, step)                                                                            \
	expect_pages(#name, p, offset, from, n, step, (const void *)name, name##_end)

static void simple(void)
{
	char *p = fresh();

	TOUCH(by_reading, p);
	EXPECT(by_reading, 8, 0, PAGES, 1);
	for (int i = 0; i < nseen; i++) /* the registers are the instruction's */
		expect(seen[i].rdi, (u64)p + i * 4096ul);
	TOUCH(by_reading, p);
	EXPECT(by_reading, 8, 0, 0, 1);
	TOUCH(by_writing, p); /* the page of zeroes is replaced */
	EXPECT(by_writing, 4095, 0, PAGES, 1);
	TOUCH(by_writing, p);
	EXPECT(by_writing, 4095, 0, 0, 1);
	TOUCH(by_changing, fresh());
	expect(nseen, PAGES);
	p = fresh();
	TOUCH(by_vector, p);
	EXPECT(by_vector, 64, 0, PAGES, 1);
	p = fresh();
	TOUCH(by_index, p);
	EXPECT(by_index, 0, PAGES - 1, PAGES, -1);
	p = fresh();
	TOUCH(by_pushing, p);
	EXPECT(by_pushing, 4088, PAGES - 1, PAGES, -1);
}

/* Registers are those of the round. */
static void strings(void)
{
	char *p = fresh();

	TOUCH(by_string, p);
	EXPECT(by_string, 0, 0, PAGES, 1);
	for (int i = 0; i < nseen; i++)
		expect(seen[i].rdi, (u64)p + i * 4096ul);
	p = fresh();
	TOUCH(backwards, p);
	EXPECT(backwards, 4095, PAGES - 1, PAGES, -1);
	p = fresh();
	TOUCH(by_search, p);
	EXPECT(by_search, 0, 0, PAGES, 1);
}

/* What is read first is the source, the upper half. */
static void two_at_a_time(void)
{
	char *p = fresh();

	TOUCH(by_copying, p);
	expect(nseen, PAGES);
	for (int i = 0; i < nseen; i++)
		expect(seen[i].addr, (u64)p + (i / 2 + (i % 2 ? 0 : PAGES / 2)) * 4096ul);
	p = fresh();
	TOUCH(across, p);
	expect(nseen, PAGES);
	for (int i = 0; i < nseen; i++)
		expect(seen[i].addr, (u64)p + i / 2 * 8192ul + (i % 2 ? 4096 : 4093));
}

/* What makes pages fault again. */
static void again(void)
{
	char *p = fresh();

	TOUCH(by_writing, p);
	madvise(p, SIZE, MADV_DONTNEED);
	TOUCH(by_writing, p);
	EXPECT(by_writing, 4095, 0, PAGES, 1);
	mmap(p, SIZE / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(p, SIZE / 2, MADV_NOHUGEPAGE);
	TOUCH(by_writing, p);
	EXPECT(by_writing, 4095, 0, PAGES / 2, 1);
	munmap(p, SIZE);
	p = mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(p, SIZE, MADV_NOHUGEPAGE);
	TOUCH(by_changing, p);
	EXPECT(by_changing, 0, 0, PAGES, 1);
}

/* The memory is shared until the parent writes to it. Others of its pages are, too. */
static void after_fork(void)
{
	char *p = fresh();
	int go[2], n = 0;
	char byte;
	pid_t pid;

	by_writing(p, PAGES);
	expect(pipe(go), 0);
	pid = fork();
	if (!pid)
		_exit(read(go[0], &byte, 1) != 1);
	TOUCH(by_writing, p);
	for (int i = 0; i < nseen; i++)
		if (seen[i].ip >= (u64)by_writing && seen[i].ip < (u64)by_writing_end)
			expect(seen[i].addr, (u64)p + n++ * 4096ul + 4095);
	expect(n, PAGES);
	expect(write(go[1], "", 1), 1);
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
}

/* A page is the system call's, the next one the program's. */
static void in_system_calls(void)
{
	char *p = fresh();
	int zero = open("/dev/zero", O_RDONLY);

	begin();
	for (int i = 0; i < PAGES; i += 2) {
		long n;

		__asm__ volatile("syscall" : "=a"(n) : "0"(SYS_read), "D"(zero), "S"(p + i * 4096l), "d"(4096l)
				 : "rcx", "r11", "memory");
		by_writing(p + i * 4096l, 2);
	}
	end();
	EXPECT(by_writing, 4095, 1, PAGES / 2, 2);
	close(zero);
}

static char *denied;

static void allow(int signo)
{
	(void)signo;
	mprotect(denied, SIZE, PROT_READ | PROT_WRITE);
}

/* A fault that ends in a signal is one, and then there is the one of the access that goes on. It is of no kind. */
static void with_signals(void)
{
	struct sigaction sa = {.sa_handler = allow}, old;
	long before = perf_value(fd), of_minor = perf_value(minor);

	denied = fresh();
	by_writing(denied, PAGES);
	mprotect(denied, SIZE, PROT_READ);
	sigaction(SIGSEGV, &sa, &old);
	begin();
	by_writing(denied, 1);
	end();
	sigaction(SIGSEGV, &old, NULL);
	expect(nseen >= 1, 1);
	expect(seen[0].addr, (u64)denied + 4095);
	expect(seen[0].ip, (u64)by_writing);
	expect(perf_value(fd) - before - (perf_value(minor) - of_minor), 1);
}

/* Each eighth, and the count goes on to the end. */
static void every_eighth(void)
{
	struct perf_attr a = attr_of(PERF_COUNT_SW_PAGE_FAULTS);
	long before = perf_value(fd), of_minor = perf_value(minor);
	char *p = fresh();

	TOUCH(by_writing, p);
	expect(perf_value(fd) - before, PAGES);
	expect(perf_value(minor) - of_minor, PAGES);
	munmap(ring, (1 + RING_PAGES) * 4096);
	close((int)fd);
	a.sample_period = 8;
	fd = perf_open(&a, 0, -1, -1, 0);
	ring = mmap(NULL, (1 + RING_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	p = fresh();
	TOUCH(by_writing, p);
	EXPECT(by_writing, 4095, 7, PAGES / 8, 8);
}

int main(void)
{
	struct perf_attr a = attr_of(PERF_COUNT_SW_PAGE_FAULTS), m = attr_of(PERF_COUNT_SW_PAGE_FAULTS_MIN);

	fd = perf_open(&a, 0, -1, -1, 0);
	minor = perf_open(&m, 0, -1, -1, 0);
	if (fd < 0)
		return perf_result();
	ring = mmap(NULL, (1 + RING_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(ring != MAP_FAILED, 1);
	if (ring == MAP_FAILED)
		return 1;
	simple(); /* once more: now all code and data of the test is there */
	failures = checks = 0;
	simple();
	strings();
	two_at_a_time();
	again();
	in_system_calls();
	with_signals();
	after_fork();
	every_eighth();
	return perf_result();
}
