/* See pin.h. */
#include "os/pin/pin.h"

#include <asm/errno.h>
#include "dbt/dbt.h"
#include "isa/level.h"
#include "os/pin/clock.h"
#include "os/pin/machine.h"
#include "os/pin/random.h"
#include "os/pin/turn.h"
#include "os/pin/wait.h"
#include "os/session/arena.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define TIOCGWINSZ 0x5413 /* asm-generic/ioctls.h */
#define ROWS	   24
#define COLUMNS	   80

/* The kernel has said that it is a terminal. */
static long pin_terminal(struct thread *t, const u64 *a, syscall_handler *host)
{
	static const u16 size[4] = {ROWS, COLUMNS};
	long ret = host(t, a);

	if (!ret && (u32)a[1] == TIOCGWINSZ)
		return guest_write(a[2], size, sizeof(size));
	return ret;
}

/* All that is allowed is the one, whatever others there are besides. */
static long pin_affinity(struct thread *t, const u64 *a, syscall_handler *host)
{
	u32 cpu = the_process.config.pin_cpu;
	u64 args[6] = {a[0], sizeof(t->pin.argument), (u64)t->pin.argument};
	u8 byte = 0; /* of the guest's set: the one with that CPU */

	if ((u32)a[1] > cpu / 8 && guest_read(&byte, a[2] + cpu / 8, 1))
		return -EFAULT;
	if (!(byte >> cpu % 8 & 1))
		return refuse(EINVAL, "--pin=cpus: there is one CPU, and this is another");
	if (cpu / 8 >= sizeof(t->pin.argument))
		return 0;
	memset(t->pin.argument, 0, sizeof(t->pin.argument));
	t->pin.argument[cpu / 64] = 1ul << cpu % 64;
	return host(t, args);
}

static long pin_prctl(struct thread *t, const u64 *a, syscall_handler *host)
{
	switch ((u32)a[0]) {
	case PIN_ANEW:
		t->pin.anew = 1;
		return 0;
	case PIN_HELD:
		return (long)the_process.config.pin;
	}
	return host(t, a);
}

/* Which item a call belongs to (PIN_ITEMS: to all), and who serves it then. */
struct row {
	u8 item;
	pin_handler *serve;
};

static const struct row rows[] = {
	[__NR_getrandom] = {PIN_RANDOM, pin_getrandom},
	[__NR_read] = {PIN_RANDOM, pin_random_read},
	[__NR_pread64] = {PIN_RANDOM, pin_random_read},
	[__NR_readv] = {PIN_RANDOM, pin_random_readv},
	[__NR_preadv] = {PIN_RANDOM, pin_random_readv},
	[__NR_preadv2] = {PIN_RANDOM, pin_random_readv},
	[__NR_open] = {PIN_RANDOM, pin_random_open},
	[__NR_openat] = {PIN_RANDOM, pin_random_open},
	[__NR_openat2] = {PIN_RANDOM, pin_random_open},
	[__NR_prctl] = {PIN_ITEMS, pin_prctl},
	[__NR_sched_setaffinity] = {PIN_CPUS, pin_affinity},
	[__NR_ioctl] = {PIN_TERMINAL, pin_terminal},
	[__NR_clock_gettime] = {PIN_CLOCK, pin_clock_gettime},
	[__NR_gettimeofday] = {PIN_CLOCK, pin_gettimeofday},
	[__NR_time] = {PIN_CLOCK, pin_time},
	[__NR_times] = {PIN_CLOCK, pin_times},
	[__NR_getrusage] = {PIN_CLOCK, pin_getrusage},
	[__NR_sysinfo] = {PIN_ITEMS, pin_sysinfo},
	[__NR_poll] = {PIN_CLOCK, pin_wait},
	[__NR_ppoll] = {PIN_CLOCK, pin_wait},
	[__NR_select] = {PIN_CLOCK, pin_wait},
	[__NR_pselect6] = {PIN_CLOCK, pin_wait},
	[__NR_epoll_wait] = {PIN_CLOCK, pin_wait},
	[__NR_epoll_pwait] = {PIN_CLOCK, pin_wait},
	[441 /* epoll_pwait2 */] = {PIN_CLOCK, pin_wait},
	[__NR_rt_sigtimedwait] = {PIN_CLOCK, pin_wait},
	[__NR_semtimedop] = {PIN_CLOCK, pin_wait},
	[__NR_nanosleep] = {PIN_CLOCK, pin_sleep},
	[__NR_clock_nanosleep] = {PIN_CLOCK, pin_sleep},
	[__NR_futex] = {PIN_CLOCK, pin_futex},
	[449 /* futex_waitv */] = {PIN_CLOCK, pin_futex},
	[455 /* futex_wait */] = {PIN_CLOCK, pin_futex},
	[__NR_mq_timedsend] = {PIN_CLOCK, pin_futex},
	[__NR_mq_timedreceive] = {PIN_CLOCK, pin_futex},
	[__NR_alarm] = {PIN_CLOCK, pin_alarm},
	[__NR_setitimer] = {PIN_CLOCK, pin_itimer},
	[__NR_getitimer] = {PIN_CLOCK, pin_getitimer},
	[__NR_timer_settime] = {PIN_CLOCK, pin_timer},
	[__NR_timerfd_settime] = {PIN_CLOCK, pin_timer},
	[__NR_setsockopt] = {PIN_CLOCK, pin_set_option},
	[__NR_recvmmsg] = {PIN_CLOCK, pin_set_option},
	[__NR_io_getevents] = {PIN_CLOCK, pin_set_option},
	[333 /* io_pgetevents */] = {PIN_CLOCK, pin_set_option},
	[__NR_wait4] = {PIN_CLOCK, pin_wait_child},
	[__NR_waitid] = {PIN_CLOCK, pin_wait_child},
};

/* The translator may have made the guest's memory read-only, which only the kernel's own EFAULT is looked at for. */
static long serve(struct thread *t, const u64 *a, pin_handler *handler, syscall_handler *host)
{
	struct pin_thread before = t->pin;
	long ret = handler(t, a, host);

	if (likely(ret != -EFAULT) || !dbt_unprotect_all())
		return ret;
	t->pin = before;
	return handler(t, a, host);
}

static long pinned(struct thread *t, const u64 *a, syscall_handler *host)
{
	const struct row *row = t->nr < ARRAY_SIZE(rows) ? &rows[t->nr] : NULL;

	if (row && row->serve && (row->item == PIN_ITEMS || held_still(row->item)))
		return serve(t, a, row->serve, host);
	return host(t, a);
}

/* For a process that has turns. */
static long pinned_in_turn(struct thread *t, const u64 *a)
{
	return pinned(t, a, t->turn.host);
}

static long call_in_turn(struct thread *t, const u64 *a, syscall_handler *host)
{
	turn_note_call(t, a);
	if (!t->turn.on)
		return pinned(t, a, host);
	t->turn.host = host;
	return turn_call(t, a, pinned_in_turn, host);
}

long pin_call(struct thread *t, const u64 *a, syscall_handler *host)
{
	long ret = held_still(PIN_SCHEDULE) ? call_in_turn(t, a, host) : pinned(t, a, host);

	if (ret != SYSCALL_AGAIN)
		t->pin.late += PIN_CALL_NS;
	return ret;
}

/* The number of the n-th CPU that is online, ARENA_CPUS: there are not so many. */
static u32 online_cpu(u32 n)
{
	const struct session_cpus *cpus = &arena()->cpus;
	u32 cpu = 0;

	for (; cpu < MIN(cpus->n, ARENA_CPUS); cpu++)
		if (cpus->online[cpu / 64] >> cpu % 64 & 1 && !n--)
			return cpu;
	return ARENA_CPUS;
}

static size_t cpuinfo(u32 part, char *buf)
{
	u32 cpu = online_cpu(part);

	return cpu == ARENA_CPUS ? 0 : isa_level_cpuinfo(the_process.config.cpu_level, cpu, buf, PIN_FILE_PART, 0);
}

static size_t online(u32 part, char *buf)
{
	return part ? 0 : rt_append(buf, PIN_FILE_PART, 0, "%u\n", the_process.config.pin_cpu);
}

static const struct file {
	u8 item;
	const char *path;
	size_t (*text)(u32 part, char *buf);
} files[] = {
	{PIN_CPU, "/proc/cpuinfo", cpuinfo},
	{PIN_CPUS, "/sys/devices/system/cpu/online", online},
	{PIN_CPUS, "/sys/devices/system/cpu/possible", online},
	{PIN_CPUS, "/sys/devices/system/cpu/present", online},
	{PIN_MEMORY, "/proc/meminfo", pin_meminfo},
	{PIN_MEMORY, "/proc/stat", pin_stat},
	{PIN_MEMORY, "/proc/loadavg", pin_loadavg},
};

static const struct file *find_file(const char *path)
{
	for (u32 i = 0; i < ARRAY_SIZE(files); i++)
		if (held_still(files[i].item) && !strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

/* The text of a file of a memory cgroup, NULL: it is none that is held still. */
static const char *cgroup_text(const char *path)
{
	static const char top[] = "/sys/fs/cgroup/";
	const char *name = strrchr(path, '/');

	if (!held_still(PIN_MEMORY) || strncmp(path, top, sizeof(top) - 1))
		return NULL;
	return pin_cgroup_memory(name + 1);
}

bool pin_is_file(const char *path)
{
	return find_file(path) || (cgroup_text(path) && !sys2(__NR_access, (long)path, 0));
}

size_t pin_file(const char *path, u32 part, char buf[PIN_FILE_PART])
{
	const struct file *file = find_file(path);

	if (file)
		return file->text(part, buf);
	return part ? 0 : rt_append(buf, PIN_FILE_PART, 0, "%s", cgroup_text(path));
}
