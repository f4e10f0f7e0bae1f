/* The printers: system-call lines, names, attr, registers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include "rt/arch.h"
#include "rt/fmt.h"
#include "abi/perf_2009.h"
#include "show/attr.h"
#include "show/names.h"
#include "show/regs.h"
#include "show/syscall.h"
#include "tests/unit/unit.h"

/* Addresses below a page count as unmapped here. */
static int fake_read(void *dst, gva src, size_t n)
{
	if (src < PAGE_SIZE)
		return -EFAULT;
	memcpy(dst, (const void *)src, n);
	return 0;
}

static long fake_read_str(char *dst, gva src, size_t size)
{
	if (src < PAGE_SIZE)
		return -EFAULT;
	rt_snprintf(dst, size, "%s", (const char *)src);
	return strlen((const char *)src) < size ? (long)strlen(dst) : -ENAMETOOLONG;
}

static const struct {
	const char *name, *formats;
} table[] = {
#define SYSCALL(nr, name, handler, level, formats) [nr] = {#name, formats},
#include ARCH_HEADER(os, syscalls.def)
#undef SYSCALL
};

static const char *line(long nr, long result, const char *why, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	static char buf[1024];
	u64 args[6] = {a, b, c, d, e, f};
	struct show_call call = {
		.nr = nr, .args = args, .result = result, .why = why, .read = fake_read, .read_str = fake_read_str};

	if (nr < (long)ARRAY_SIZE(table))
		call.name = table[nr].name, call.formats = table[nr].formats;
	expect_long(show_syscall(buf, sizeof(buf), &call), strlen(buf));
	return buf;
}

#define P(pointer) ((u64)(pointer))

static void test_lines(void)
{
	char want[200], data[40];

	expect_str(line(SYS_openat, 3, NULL, (u64)AT_FDCWD, P("/etc/ld.so.cache"), O_RDONLY | O_CLOEXEC, 0, 0, 0),
		   "openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3");
	expect_str(line(SYS_open, 3, NULL, P("f"), O_WRONLY | O_CREAT, 0644, 0, 0, 0),
		   "open(\"f\", O_WRONLY|O_CREAT, 0644) = 3");
	expect_str(line(SYS_write, 3, NULL, 1, P("a\n\"\0019"), 5, 0, 0, 0), "write(1, \"a\\n\\\"\\0019\", 5) = 3");
	memset(data, 'x', sizeof(data));
	snprintf(want, sizeof(want), "read(0, \"%.32s\"..., 4096) = 40", data);
	expect_str(line(SYS_read, 40, NULL, 0, P(data), 4096, 0, 0, 0), want);
	expect_str(line(SYS_read, -EAGAIN, NULL, 0, 0x7000, 4096, 0, 0, 0), "read(0, 0x7000, 4096) = -1 EAGAIN");
	expect_str(line(SYS_open, -EFAULT, NULL, 8, 0, 0, 0, 0, 0), "open(0x8, O_RDONLY) = -1 EFAULT");
	expect_str(line(SYS_mmap, 0x10000000, NULL, 0, 8192, 3, 0x22, (u64)-1, 0),
		   "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x10000000");
	expect_str(line(SYS_kill, 0, NULL, 77, SIGTERM, 0, 0, 0, 0), "kill(77, SIGTERM) = 0");
	expect_str(line(SYS_futex, 1, NULL, 0x5000, 129, 1, 0, 0, 0),
		   "futex(0x5000, FUTEX_WAKE_PRIVATE, 0x1, NULL, 0, 0) = 1");
	expect_str(line(SYS_ioctl, 0, NULL, 3, PERF_EVENT_IOC_DISABLE, 1, 0, 0, 0),
		   "ioctl(3, PERF_EVENT_IOC_DISABLE, 0x1) = 0");
	expect_str(line(SYS_ioctl, 0, NULL, 3, PERF_EVENT_IOC_ID, 0, 0, 0, 0), "ioctl(3, PERF_EVENT_IOC_ID, NULL) = 0");
	expect_str(line(SYS_ioctl, -ENOTTY, NULL, 3, 0x99, 0, 0, 0, 0), "ioctl(3, 0x99, NULL) = -1 ENOTTY");
	expect_str(line(SYS_getpid, 9, NULL, 1, 2, 3, 4, 5, 6), "getpid() = 9");
	expect_str(line(999, -ENOSYS, NULL, 1, 2, 0, 0, 0, 0),
		   "syscall_999(0x1, 0x2, 0, 0, 0, 0) = -1 ENOSYS (not known to pcl: passed through)");
	expect_str(line(SYS_getpid, -3000, NULL, 0, 0, 0, 0, 0, 0), "getpid() = -1 (error 3000)");
}

static void test_unfinished(void)
{
	u64 args[6] = {3};
	struct show_call call = {.name = "exit_group", .formats = "d", .nr = SYS_exit_group, .args = args,
				 .unfinished = true, .read = fake_read, .read_str = fake_read_str};
	char buf[100], small[6];

	show_syscall(buf, sizeof(buf), &call);
	expect_str(buf, "exit_group(3) = ?");
	show_syscall(small, sizeof(small), &call);
	expect_str(small, "exit_");
}

static void test_attr(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = PERF_COUNT_HW_INSTRUCTIONS};
	u64 reserved = 1ul << 45;
	char buf[1000];

	a.disabled = a.exclude_kernel = 1;
	a.precise_ip = 2;
	a.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP | 0x100;
	expect_str(
		line(SYS_perf_event_open, -EINVAL, "reserved bit in attr.read_format", P(&a), 0, (u64)-1, (u64)-1, 0,
		     0),
		"perf_event_open({type=HARDWARE, size=128, config=INSTRUCTIONS, read_format=ID|GROUP|0x100, disabled, "
		"exclude_kernel, precise_ip=2}, 0, -1, -1, 0) = -1 EINVAL (reserved bit in attr.read_format)");

	a = (struct perf_event_attr){.type = PERF_TYPE_HW_CACHE, .size = 64, .config = 0x10003, .sample_period = 4000};
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT;
	memcpy((char *)&a + 40, &reserved, sizeof(reserved));
	show_attr(buf, sizeof(buf), 0, &a, 64);
	expect_str(buf,
		   "{type=HW_CACHE, size=64, config=DTLB|READ|MISS, sample_period=4000, sample_type=IP|WEIGHT_STRUCT, "
		   "reserved_bits=0x200000000000}");

	a = (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT, .size = 128, .bp_type = 3, .bp_addr = 0x1234, .bp_len = 4};
	show_attr(buf, sizeof(buf), 0, &a, sizeof(a));
	expect_str(buf, "{type=BREAKPOINT, size=128, config=0, bp_type=R|W, bp_addr=0x1234, bp_len=4}");

	a = (struct perf_event_attr){.type = 77, .config = 0x10, .sample_freq = 99, .freq = 1, .config1 = 5};
	show_attr(buf, sizeof(buf), 0, &a, 64);
	expect_str(buf, "{type=0x4d, size=0, config=0x10, sample_freq=99, freq, config1=0x5}");
}

static void test_hw_event(void)
{
	/* An attr of today is longer. */
	struct perf_hw_event_2009 of_2009[2] = {{.config = 1, .irq_period = 1000, .record_type = 17, .read_format = 2,
						 .flags = HW_EVENT_DISABLED | HW_EVENT_MUNMAP, .wakeup_events = 3}};
	struct perf_hw_event_2009 *hw = of_2009;
	u64 args[6] = {P(hw), 0, (u64)-1, (u64)-1, 8};
	struct show_call call = {.name = "perf_event_open", .formats = "eddfx", .nr = SYS_perf_event_open, .args = args,
				 .result = 3, .read = fake_read, .read_str = fake_read_str, .abi_2009 = true};
	char buf[300];

	show_syscall(buf, sizeof(buf), &call);
	expect_str(buf, "perf_event_open({config=HARDWARE|INSTRUCTIONS, irq_period=1000, record_type=IP|GROUP, "
			"read_format=TOTAL_TIME_RUNNING, flags=disabled|munmap, wakeup_events=3}, 0, -1, -1, 0x8) = 3");
	*hw = (struct perf_hw_event_2009){.config = HW_EVENT_RAW | 0xc0, .reserved_3 = 1};
	show_hw_event(buf, sizeof(buf), 0, hw);
	expect_str(buf, "{config=raw|0xc0, __reserved_3=0x1}");
	*hw = (struct perf_hw_event_2009){.config = 3ul << HW_EVENT_TYPE_SHIFT | 5};
	show_hw_event(buf, sizeof(buf), 0, hw);
	expect_str(buf, "{config=3|5}");
	hw->config = 1 | 64ul << 32; /* this one is of today */
	show_syscall(buf, sizeof(buf), &call);
	expect(!strncmp(buf, "perf_event_open({type=SOFTWARE, size=64", 39));
}

static void test_names(void)
{
	expect_str(show_errno(EINVAL), "EINVAL");
	expect_str(show_errno(EHWPOISON), "EHWPOISON");
	expect_str(show_errno(512), "ERESTARTSYS");
	expect(!show_errno(0) && !show_errno(-1) && !show_errno(4000) && !show_errno(41));
	expect_str(show_signal(SIGSEGV), "SIGSEGV");
	expect_str(show_signal(SIGSYS), "SIGSYS");
	expect_str(show_signal(32), "SIGRT_0");
	expect_str(show_signal(64), "SIGRT_32");
	expect(!show_signal(0) && !show_signal(65));
	for (int e = 1; e <= EHWPOISON; e++)
		expect(show_errno(e) || e == 41 || e == 58);
}

static void test_regs(void)
{
	struct show_regs regs = {.rip = 0x401000, .rflags = 0x246};
	char buf[512];

	for (int i = 0; i < 16; i++)
		regs.gpr[i] = (u64)i;
	expect(show_regs(buf, sizeof(buf), &regs) < sizeof(buf) - 1);
	expect(strstr(buf, "rax 0000000000000000  rcx 0000000000000001") == buf);
	expect(strstr(buf, "r15 000000000000000f\nrip 0000000000401000\nrflags 246 PF|ZF\n") != NULL);
}

/* Every row: a letter that the printer knows, at most six arguments, the number of the kernel's own header. */
static void test_table(void)
{
	for (size_t nr = 0; nr < ARRAY_SIZE(table); nr++) {
		if (!table[nr].name)
			continue;
		expect(strlen(table[nr].formats) <= 6);
		expect(strspn(table[nr].formats, "dDuUxpmsbBfaOwPMShcCFlqAke") == strlen(table[nr].formats));
	}
	expect_str(table[SYS_perf_event_open].name, "perf_event_open");
	expect_str(table[SYS_rseq].name, "rseq");
	expect_str(table[SYS_clone3].name, "clone3");
	expect_str(table[SYS_futex_waitv].name, "futex_waitv");
}

int main(void)
{
	test_lines();
	test_unfinished();
	test_attr();
	test_hw_event();
	test_names();
	test_regs();
	test_table();
	return unit_result();
}
