/* See doctor.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/types.h"
#include "cli/doctor.h"
#include "cli/find.h"
#include "cli/launch.h"
#include "cli/limits.h"
#include "cli/pids.h"
#include "cli/probe.h"
#include "cli/processor.h"

#ifndef PR_GET_MDWE /* Linux 6.3 */
#define PR_GET_MDWE 66
#endif
#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10u
#endif
#define PARANOID   "/proc/sys/kernel/perf_event_paranoid"
#define OVERCOMMIT "/proc/sys/vm/overcommit_memory"
#define TEXT	   4096

static bool is_bad;

void doctor_say(enum doctor_mark mark, const char *subject, const char *format, ...)
{
	static const char *const words[] = {[DOCTOR_GOOD] = "ok", [DOCTOR_NOTE] = "-", [DOCTOR_BAD] = "FAILS"};
	va_list args;

	printf("  %-5s  %-22s ", words[mark], subject);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	is_bad |= mark == DOCTOR_BAD;
}

/* -100: it cannot be read. */
static int read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	int v = -100;

	if (f && fscanf(f, "%d", &v) != 1)
		v = -100;
	if (f)
		fclose(f);
	return v;
}

/* Opens the event on this process. A descriptor or -errno. */
static int try_event(u32 type, u64 config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = config, .exclude_kernel = 1, .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static const char *why_not_opened(int err)
{
	switch (err) {
	case ENOSYS:
		return "the kernel, or a seccomp filter, has no such system call";
	case EPERM:
		return "refused by a seccomp filter or a security module";
	case EACCES:
		return "refused to this user by perf_event_paranoid";
	case ENOENT:
	case EOPNOTSUPP:
		return "the kernel sees no PMU of this processor";
	default:
		return strerror(err);
	}
}

static void probe_event(const char *subject, u32 type, u64 config)
{
	int fd = try_event(type, config);
	u64 count = 0;

	if (fd < 0) {
		doctor_say(DOCTOR_NOTE, subject, "none: %s (%s)", why_not_opened(-fd), strerrorname_np(-fd));
		return;
	}
	for (volatile int i = 0; i < 100000; i++)
		;
	if (read(fd, &count, sizeof(count)) == sizeof(count) && count)
		doctor_say(DOCTOR_GOOD, subject, "counted: %lu for a short loop", count);
	else
		doctor_say(DOCTOR_NOTE, subject, "opened, but it counts nothing");
	close(fd);
}

static void probe_kernel(void)
{
	int paranoid = read_number(PARANOID), seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	if (paranoid > -100)
		doctor_say(paranoid > 2 ? DOCTOR_NOTE : DOCTOR_GOOD, "perf_event_paranoid", "%d%s", paranoid,
			   paranoid > 2	  ? ": no perf_event_open at all without CAP_PERFMON"
			   : paranoid > 1 ? ": user mode of one's own processes"
					  : "");
	else
		doctor_say(DOCTOR_NOTE, "perf_event_paranoid", "cannot be read: %s", strerror(errno));
	doctor_say(seccomp ? DOCTOR_NOTE : DOCTOR_GOOD, "seccomp",
		   seccomp == 2 ? "a filter is in force"
		   : seccomp	? "not known"
				: "no filter");
	probe_event("software events", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	probe_event("hardware events", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

/* What the launcher does about limits; what it would say is the guest's to read in a session. */
static bool limits_are_lifted(void)
{
	struct session_config config = {0};
	int fd = (int)syscall(SYS_memfd_create, "pcl doctor", MFD_CLOEXEC);

	close(STDERR_FILENO);
	return !limits_lift(&config) && (fd < 0 || !limits_size_file(fd, ARENA_FILE_SIZE));
}

/* These count addresses that pcl only reserves. */
static void probe_limits(void)
{
	static const struct {
		int resource;
		const char *subject;
	} limits[] = {{RLIMIT_AS, "ulimit -v"}, {RLIMIT_DATA, "ulimit -d"}, {RLIMIT_FSIZE, "ulimit -f"}};
	pid_t pid;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit l;

		if (getrlimit(limits[i].resource, &l))
			continue;
		if (l.rlim_cur == RLIM_INFINITY)
			doctor_say(DOCTOR_GOOD, limits[i].subject, "unlimited");
		else
			doctor_say(DOCTOR_NOTE, limits[i].subject, "%lu KiB", (unsigned long)l.rlim_cur / 1024);
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(limits_are_lifted() ? 0 : 1);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		doctor_say(
			DOCTOR_BAD, "limits",
			"a hard limit leaves no room for pcl's reservations of addresses; ulimit -S sets a soft one");
}

/* Anonymous memory that becomes executable after it was written, as a translator's does. */
static void probe_memory(void)
{
	void *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err = page == MAP_FAILED || mprotect(page, PAGE_SIZE, PROT_READ | PROT_EXEC) ? errno : 0;
	int mdwe = prctl(PR_GET_MDWE, 0, 0, 0, 0), overcommit = read_number(OVERCOMMIT);

	if (err)
		doctor_say(DOCTOR_NOTE, "executable memory", "refused (%s%s): pcl maps its code twice then",
			   strerrorname_np(err), mdwe > 0 ? ", PR_SET_MDWE" : "");
	else
		doctor_say(DOCTOR_GOOD, "executable memory", "written memory may be executed");
	if (page != MAP_FAILED)
		munmap(page, PAGE_SIZE);
	if (overcommit == 2)
		doctor_say(
			DOCTOR_NOTE, "overcommit_memory",
			"2: the kernel promises no more memory than it has; pcl's tables become writable as they fill");
	else if (overcommit > -100)
		doctor_say(DOCTOR_GOOD, "overcommit_memory", "%d", overcommit);
}

/* A guest that restricts itself goes on by a memfd, which the kernel must let it execute. */
static void probe_landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int err = errno, fd = (int)syscall(SYS_memfd_create, "pcl doctor", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* Linux before 6.3, where each may be executed */
		fd = (int)syscall(SYS_memfd_create, "pcl doctor", MFD_CLOEXEC);
	if (abi < 0)
		doctor_say(DOCTOR_NOTE, "Landlock", "the kernel has none (%s)", strerrorname_np(err));
	else if (fd < 0)
		doctor_say(DOCTOR_NOTE, "Landlock",
			   "programs that restrict themselves cannot execute others: a memfd may not be executed (%s)",
			   strerrorname_np(errno));
	else
		doctor_say(DOCTOR_GOOD, "Landlock", "version %ld; programs that restrict themselves can execute others",
			   abi);
	if (fd >= 0)
		close(fd);
}

static void probe_proc(void)
{
	char path[64];

	if (readlink("/proc/self/exe", path, sizeof(path)) > 0)
		doctor_say(DOCTOR_GOOD, "/proc", "is mounted");
	else
		doctor_say(DOCTOR_NOTE, "/proc",
			   "not there (%s): symbols of running programs, other tasks' memory maps and cgroups are not "
			   "found",
			   strerror(errno));
}

/* For --pin=pids. */
static void probe_pids(void)
{
	const char *why;
	enum pids_way way = pids_try(&why);

	if (way == PIDS_REFUSED)
		doctor_say(DOCTOR_NOTE, "process ids", "cannot be held still: %s (%s)", why,
			   strerrorname_np(errno));
	else
		doctor_say(DOCTOR_GOOD, "process ids", "are held still with --pin=+pids%s",
			   way == PIDS_PLAIN ? "" : "; files of other users are shown as nobody's then");
}

/* The first "instructions,exact,,1,N" of CSV. -1: there is none. */
static long parse_count(const char *text)
{
	const char *at = strstr(text, "instructions,exact,,1,");

	return at ? atol(at + strlen("instructions,exact,,1,")) : -1;
}

/* What pcl is for: a program is run and counted, twice. */
static void probe_session(char *self)
{
	char *argv[] = {self, "count", "--csv", "-e", "instructions", "--", self, "--version", NULL};
	char text[TEXT];
	long count[2];

	for (int i = 0; i < 2; i++) {
		int status = probe_run(argv, text, sizeof(text));

		count[i] = parse_count(text);
		if (status || count[i] < 0) {
			doctor_say(DOCTOR_BAD, "counting", "pcl count ends with status %d: %s", status,
				   probe_reason(status, text));
			return;
		}
	}
	if (count[0] == count[1])
		doctor_say(DOCTOR_GOOD, "counting", "pcl --version takes %ld instructions, the same twice", count[0]);
	else
		doctor_say(DOCTOR_NOTE, "counting", "pcl --version takes %ld instructions, then %ld", count[0],
			   count[1]);
}

static void print_head(void)
{
	struct utsname u;

	uname(&u);
	printf("pcl " PCL_VERSION ", %s %s, %s, %ld processors\n", u.sysname, u.release, processor_brand(),
	       sysconf(_SC_NPROCESSORS_ONLN));
}

int doctor_main(int argc, char **argv)
{
	struct program self;

	if (argc > 1) {
		fprintf(stderr, "pcl doctor: takes no arguments: %s (see pcl --help)\n", argv[1]);
		return LAUNCH_FAILED;
	}
	if (find_self(&self))
		return LAUNCH_FAILED;
	signal(SIGCHLD, SIG_DFL); /* ignored, it would leave no status of the probes */
	print_head();
	printf("\n%s\n", launch_is_inside() ? "this session of pcl, as a guest meets it" : "this machine, without pcl");
	probe_kernel();
	printf("\nwhat pcl finds\n");
	probe_proc();
	probe_limits();
	probe_memory();
	probe_landlock();
	probe_pids();
	printf("\npcl\n");
	probe_session(self.path);
	printf("\nperf, which pcl count and pcl check do without\n");
	doctor_perf(self.path);
	printf("\n%s\n", is_bad ? "pcl does not work here." : "pcl works here.");
	return is_bad ? LAUNCH_FAILED : 0;
}
