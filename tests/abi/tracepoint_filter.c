/*
 * The language of filters: what is accepted, with which errno the rest is refused, and which records pass.
 * covers: PERF_EVENT_IOC_SET_FILTER
 */
#include "tests/abi/tracepoint.h"

#define NAME "traced"
#define PASSES 1
#define STOPS 0

/* A filter of syscalls:sys_enter_prctl, and whether prctl(9999, 2, 3, 4, 5) passes it; or -errno. */
static const struct {
	const char *text;
	int want;
} rows[] = {
	/* conditions */
	{"option == 9999", PASSES},
	{"option==9999", PASSES},
	{" option\t==  9999 \n", PASSES},
	{"option != 9999", STOPS},
	{"option < 9999", STOPS},
	{"option < 10000", PASSES},
	{"option <= 9999", PASSES},
	{"option <= 9998", STOPS},
	{"option > 9998", PASSES},
	{"option > 9999", STOPS},
	{"option >= 9999", PASSES},
	{"option >= 10000", STOPS},
	{"option & 0xf", PASSES},
	{"option & 0xf0000", STOPS},
	{"__syscall_nr == 157", PASSES},
	{"common_pid > 0", PASSES},
	{"common_pid > -1", PASSES},
	{"common_pid == -1", STOPS},
	{"common_type != 0", PASSES},
	{"common_flags == 0", PASSES},
	{"cpu >= 0 && CPU < 4096", PASSES},
	{"cpu == 99999", STOPS},
	{"common_cpu > -1", PASSES},
	{"cpu > 4294967295", PASSES}, /* it is an int: -1 */
	{"cpu == 18446744073709551615", -EINVAL},
	{"cpu & -1", STOPS},
	/* numbers */
	{"option == 0x270f", PASSES},
	{"option == 023417", PASSES},
	{"option == 18446744073709551615", STOPS},
	{"option == 18446744073709551616", -EINVAL},
	{"option == 9999x", -EINVAL},
	{"option == 09", -EINVAL},
	{"option == +9999", -EINVAL},
	{"arg2 == -1", -EINVAL}, /* arguments have no sign */
	{"common_pid == 9223372036854775808", -EINVAL},
	{"common_type == 65536", STOPS},
	/* strings */
	{"comm == \"" NAME "\"", PASSES},
	{"comm == '" NAME "'", PASSES},
	{"COMM == \"" NAME "\"", PASSES},
	{"comm != \"" NAME "\"", STOPS},
	{"comm == \"trace\"", STOPS},
	{"comm == \"\"", STOPS},
	{"comm ~ \"trac*\"", PASSES},
	{"comm ~ \"*ace*\"", PASSES},
	{"comm ~ \"tr?ce?\"", PASSES},
	{"comm ~ \"t*c?d\"", PASSES},
	{"comm ~ \"[s-u]raced\"", PASSES},
	{"comm ~ \"[!t]raced\"", STOPS},
	{"comm ~ \"race\"", STOPS},
	{"comm > \"a\"", -EINVAL},
	{"comm == 1", -EINVAL},
	{"comm == " NAME, -EINVAL},
	{"option == \"9999\"", -EINVAL},
	{"option ~ 9999", -EINVAL},
	/* joined */
	{"option == 9999 && arg2 == 2", PASSES},
	{"option==9999&&arg2==3", STOPS},
	{"option == 1 || arg2 == 2", PASSES},
	{"option == 1 || arg2 == 3", STOPS},
	{"option == 1 && arg2 == 2 || arg3 == 3", PASSES},
	{"option == 9999 || arg2 == 2 && arg3 == 4", PASSES},
	{"(option == 9999 || arg2 == 2) && arg3 == 4", STOPS},
	{"((option == 9999))", PASSES},
	{"!option == 9999", STOPS},
	{"!(option == 9999)", STOPS},
	{"! (option != 9999)", PASSES},
	{"!!(option == 9999)", PASSES},
	{"(option == 9999) && !(arg2 == 3)", PASSES},
	{"!(option == 9999 && arg2 == 3) && (arg3 == 3 || arg4 == 9)", PASSES},
	/* not filters */
	{"", -EINVAL},
	{"0", -EINVAL},
	{"()", -EINVAL},
	{"( () )", -EINVAL},
	{"! !", -EINVAL},
	{"option", -EINVAL},
	{"option ==", -EINVAL},
	{"option = 1", -EINVAL},
	{"option << 1", -EINVAL},
	{"nosuch == 1", -EINVAL},
	{"ret == 1", -EINVAL},
	{"option == 9999 || nosuch == 1", -EINVAL},
	{"option == arg2", -EINVAL},
	/* Linux quirk: other numbers */
	{"option == 9999)", -EPERM},
	{"!()", -EPERM},
	{"\"x\" == comm", -EPERM},
	{"|| option == 9999", -EPERM},
	{"option == 9999 && || arg2 == 2", -EPERM},
	{"option == 9999 && ()", -EPERM},
	{"(option == 9999", -ENOENT},
	{"comm == \"" NAME, -ESRCH},
	{"option == 9999 | arg2 == 2", -EPERM},
	{"option == 9999 arg2 == 2", -EPERM},
	{"option == 9999 &&", PASSES},
};

static int outcome(const char *text)
{
	long fd = trace_open(trace_attr("syscalls/sys_enter_prctl"), 0), before, n;
	long err = perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)text);

	before = perf_value(fd);
	syscall(SYS_prctl, 9999, 2, 3, 4, 5);
	n = trace_count(fd) - before;
	/* What was refused changes nothing. */
	if (err)
		expect(n, 1);
	return (int)(err ? err : n);
}

/*
 * A string in the task's memory is one only with .ustring; without it is an address in the kernel, which cannot be
 * read.
 */
static void user_strings(void)
{
	static const struct {
		const char *filter;
		int want;
	} rows[] = {
		{"filename == 0", -EINVAL},
		{"filename == \"/nowhere\"", STOPS},
		{"filename != \"/nowhere\"", STOPS},
		{"filename.ustring == \"/nowhere\"", PASSES},
		{"filename.ustring != \"/nowhere\"", STOPS},
		{"filename.ustring ~ \"/no*\" && dfd != 3", PASSES},
		{"filename.ustring ~ \"*here\" && mode == 1", STOPS},
		{"filename.ustring == 0", -EINVAL},
		{"dfd.ustring == \"x\"", -EINVAL},
		{"comm.ustring == \"" NAME "\" && mode.ustring == 0", PASSES},
		{"dfd.string == 0", -EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		long fd = trace_open(trace_attr("syscalls/sys_enter_openat"), 0), before;
		long err = perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)rows[i].filter);

		before = perf_value(fd);
		syscall(SYS_openat, AT_FDCWD, "/nowhere", O_RDONLY);
		syscall(SYS_openat, AT_FDCWD, 8L, O_RDONLY); /* never passes */
		expect(err ? err : perf_value(fd) - before, rows[i].want);
		close((int)fd);
	}
}

static void for_good(void)
{
	long fd = trace_open(trace_attr("syscalls/sys_enter_prctl"), 0), other;
	struct perf_attr sw = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	char *text = malloc(8192);

	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, 8), -EFAULT);
	memset(text, ' ', 8191);
	text[8191] = 0;
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)text), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"option == 1"), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"option == 2"), -EEXIST);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"("), -EEXIST);
	close((int)fd);
	other = trace_open(sw, 0);
	expect(perf_ioctl(other, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"cpu == 0"), -EINVAL);
	close((int)other);
	free(text);
}

/* Inherited events have their parent's filter. */
static void inherited(void)
{
	struct perf_attr a = trace_attr("syscalls/sys_exit_prctl");
	long fd;

	a.inherit = 1;
	fd = trace_open(a, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"ret < 0"), 0);
	if (fork() == 0) {
		prctl(PR_GET_DUMPABLE);
		prctl(9999);
		_exit(0);
	}
	wait(NULL);
	prctl(9999);
	expect(trace_count(fd), 2);
}

int main(void)
{
	trace_skip_without();
	/* Linux takes long for the first and the last event of a tracepoint: these stay. */
	trace_open(trace_attr("syscalls/sys_enter_prctl"), 0);
	trace_open(trace_attr("syscalls/sys_enter_openat"), 0);
	prctl(PR_SET_NAME, NAME);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int seen = failures;

		expect(outcome(rows[i].text), rows[i].want);
		if (failures > seen)
			printf("of the filter \"%s\"\n", rows[i].text);
	}
	user_strings();
	for_good();
	inherited();
	return perf_result();
}
