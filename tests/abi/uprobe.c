/*
 * The uprobe PMU: what it counts, its records, its errors; the guest's text is as it was.
 * covers: attr.config1, attr.config2
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include "tests/abi/uprobe.h"

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE long once(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

NOINLINE long twice(long a)
{
	return once(a) + once(a);
}

static void call_once(int n)
{
	while (n--)
		once(n);
}

static void counts(void)
{
	long fd = uprobe_open(once, 0), other = uprobe_open(once, 0), not_called = uprobe_open(twice, 0);

	call_once(100);
	perf_ioctl(other, PERF_EVENT_IOC_DISABLE, 0);
	call_once(7);
	perf_ioctl(other, PERF_EVENT_IOC_ENABLE, 0);
	call_once(1);
	expect(uprobe_count(fd), 108);
	call_once(5);
	expect(uprobe_count(other), 106);
	expect(uprobe_count(not_called), 0);
	fd = uprobe_open(once, 0);
	twice(1);
	expect(uprobe_count(fd), 2);
}

/* An instruction in the middle of a loop, by its own address. */
static void in_a_loop(void)
{
	void *at;
	long fd, n = 1000;

	__asm__ volatile("lea 1f(%%rip), %0" : "=r"(at));
	fd = uprobe_open(at, 0);
	__asm__ volatile("1: nop\n\tdec %0\n\tjnz 1b" : "+r"(n));
	expect(uprobe_count(fd), 1000);
}

static void text_is_unchanged(void)
{
	unsigned char before[16], during[16];
	long fd;

	memcpy(before, (const void *)once, sizeof(before));
	fd = uprobe_open(once, 0);
	call_once(3);
	memcpy(during, (const void *)once, sizeof(during));
	expect(during[0], under_pcl() ? before[0] : 0xcc); /* Linux writes a breakpoint instruction there */
	expect(memcmp(before + 1, during + 1, sizeof(before) - 1), 0);
	expect(uprobe_count(fd), 3);
}

static void *thread(void *n)
{
	call_once((int)(long)n);
	return NULL;
}

static void whose(void)
{
	struct place p = place_of(once);
	struct perf_attr a = uprobe_at(&p, 0);
	long own = perf_open(&a, 0, -1, -1, 0), all, status;
	pthread_t t;
	pid_t pid;

	a.inherit = 1;
	all = perf_open(&a, 0, -1, -1, 0);
	call_once(10);
	pthread_create(&t, NULL, thread, (void *)20);
	pthread_join(t, NULL);
	pid = fork();
	if (!pid) {
		call_once(40);
		_exit(0);
	}
	waitpid(pid, (int *)&status, 0);
	expect(uprobe_count(own), 10);
	expect(uprobe_count(all), 70);
}

/* Another process, while it runs. */
static void of_others(void)
{
	struct place p = place_of(once);
	struct perf_attr a = uprobe_at(&p, 0);
	int go[2], done[2], status;
	char c = 0;
	long fd;
	pid_t pid;

	expect(pipe(go) | pipe(done), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			call_once(50);
		_exit(write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1);
	}
	fd = perf_open(&a, pid, -1, -1, 0);
	expect(fd >= 0, 1);
	call_once(5);
	expect(write(go[1], &c, 1), 1);
	expect(read(done[0], &c, 1), 1);
	expect(perf_value(fd), 50);
	expect(write(go[1], &c, 1), 1);
	waitpid(pid, &status, 0);
	expect(status, 0);
	expect(uprobe_count(fd), 50);
}

/* A library that comes, goes and comes again, perhaps elsewhere. */
static void mapped_later(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);
	double (*function)(double) = lib ? (double (*)(double))dlsym(lib, "cbrt") : NULL;
	struct place p;
	long fd;

	expect(!!function, 1);
	if (!function)
		return;
	p = place_of(function);
	dlclose(lib);
	for (int i = 0; i < 3; i++) {
		struct perf_attr a = uprobe_at(&p, 0);

		fd = perf_open(&a, 0, -1, -1, 0);
		lib = dlopen("libm.so.6", RTLD_NOW);
		function = (double (*)(double))dlsym(lib, "cbrt");
		for (int k = 0; k < 30; k++)
			function(k);
		dlclose(lib);
		expect(uprobe_count(fd), 30);
	}
}

/* Another mapping of the file, which moves. */
static void moved(void)
{
	struct place p = place_of(once);
	int file = open(p.path, O_RDONLY);
	size_t len = 8192, in_page = p.offset % 4096;
	char *from = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (off_t)(p.offset - in_page)),
	     *to = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long fd = uprobe_open(once, 0);

	expect(from != MAP_FAILED && to != MAP_FAILED, 1);
	close(file);
	expect(((long (*)(long))(from + in_page))(1), 2);
	expect(perf_value(fd), 1);
	expect(mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
	for (int i = 0; i < 3; i++)
		expect(((long (*)(long))(to + in_page))(1), 2);
	call_once(5);
	expect(uprobe_count(fd), 9);
	munmap(to, len);
}

static void records(void)
{
	struct place p = place_of(once);
	struct uprobe_ring r = uprobe_ring(uprobe_at(&p, 0));
	struct uprobe_sample s;

	call_once(3);
	for (int i = 0; i < 3; i++) {
		expect(uprobe_next(&r, &s), 1);
		expect(s.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
		expect(s.ip, once);
		expect(s.addr, 0);
		expect(s.size, 20);
		expect(s.type, 0);
		expect(s.pid, getpid());
		expect(s.vaddr[0], once);
	}
	expect(uprobe_next(&r, &s), 0);
	uprobe_ring_close(&r);
}

/* What a filter may name: what every record has. Linux quirk: the address is in the record and has no name. */
static const struct {
	const char *text;
	int want; /* of three hits pass, or -errno */
} filters[] = {
	{"common_pid > 0", 3},		  {"common_pid == 0", 0},	  {"common_type == 0", 3},
	{"common_flags != 0", 0},	  {"comm == 'probed'", 3},	  {"comm != 'probed'", 0},
	{"cpu >= 0 && CPU < 99999", 3},	  {"cpu == 99999", 0},		  {"__probe_ip == 0", -EINVAL},
	{"__probe_func > 0", -EINVAL},	  {"__probe_ret_ip > 0", -EINVAL}, {"(", -ENOENT},
};

static void filtered(u64 config)
{
	struct place p = place_of(once);

	prctl(PR_SET_NAME, "probed");
	for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		int want = filters[i].want, err = want < 0 ? want : 0, n = 0;
		struct uprobe_ring r = uprobe_ring(uprobe_at(&p, config));
		struct uprobe_sample s;

		expect(perf_ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)filters[i].text), err);
		call_once(3);
		while (uprobe_next(&r, &s))
			n++;
		expect(n, err ? 3 : want);
		expect(perf_value(r.fd), n);
		/* One is kept. */
		expect(perf_ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"cpu >= 0"), err ? 0 : -EEXIST);
		uprobe_ring_close(&r);
	}
}

#define uprobe_refused(err, change)                                                                                    \
	do {                                                                                                           \
		struct place p = place_of(once);                                                                       \
		struct perf_attr a = uprobe_at(&p, 0);                                                                 \
		change;                                                                                                \
		expect(perf_try(a, 0, -1, -1, 0), -(err));                                                             \
	} while (0)

static void errors(void)
{
	static char longest[PATH_MAX + 10];
	long fd;

	memset(longest, 'a', sizeof(longest) - 1);
	uprobe_refused(0, (void)0);
	uprobe_refused(EINVAL, a.config1 = 0);
	uprobe_refused(EFAULT, a.config1 = 8);
	uprobe_refused(E2BIG, a.config1 = (u64)longest);
	uprobe_refused(EINVAL, a.config1 = (u64) "");
	uprobe_refused(EINVAL, a.config1 = (u64) "/");
	uprobe_refused(EINVAL, a.config1 = (u64) "/dev/null");
	uprobe_refused(ENOENT, a.config1 = (u64) "/nonexistent");
	uprobe_refused(ENOTDIR, a.config1 = (u64) "/dev/null/x");
	uprobe_refused(EINVAL, a.config2 = 1ul << 40);
	uprobe_refused(EINVAL, a.config2 = ~0ul >> 1);
	uprobe_refused(0, a.config2 = -1ul); /* Linux quirk: below the beginning, where it is never hit */
	uprobe_refused(EINVAL, a.config |= 3ul << 32);
	uprobe_refused(0, a.config |= 2);
	uprobe_refused(EOPNOTSUPP, a.sample_type = PERF_SAMPLE_BRANCH_STACK; a.sample_period = 1;
		       a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);
	/* One place has one counter. */
	fd = uprobe_open(once, 0);
	uprobe_refused(EINVAL, a.config |= 0x1000ul << 32);
	uprobe_refused(0, a.config2++);
	close((int)fd);
	fd = uprobe_open(once, 0x1000ul << 32);
	uprobe_refused(EINVAL, a.config |= 0x2000ul << 32);
	uprobe_refused(0, a.config |= 0x1000ul << 32);
	close((int)fd);
	uprobe_refused(0, a.config |= 0x2000ul << 32);
	if (as_nobody()) {
		uprobe_refused(EACCES, (void)0);
		uprobe_refused(EACCES, a.config1 = 0);
		exit(failures);
	}
}

int main(void)
{
	uprobe_skip_without();
	counts();
	in_a_loop();
	text_is_unchanged();
	whose();
	of_others();
	mapped_later();
	moved();
	records();
	filtered(0);
	filtered(UPROBE_RETURN);
	errors();
	return perf_result();
}
