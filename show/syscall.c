/* The line that --strace prints; see syscall.h. Constants: the UAPI headers named beside each table. */
#include "rt/fmt.h"
#include "rt/string.h"
#include "abi/perf_2009.h"
#include "show/attr.h"
#include "show/names.h"
#include "show/syscall.h"

#define BYTES_SHOWN 32	 /* of a read or written buffer */
#define STRING_SHOWN 256 /* of a path */
#define ATTR_SHOWN 256	 /* bytes of struct perf_event_attr that are looked at */
#define ATTR_SIZE_AT 4
#define ATTR_SIZE_VER0 64
#define CWD (-100)

/* asm-generic/fcntl.h */
static const struct show_flag open_flags[] = {
	{0100, "O_CREAT"}, {0200, "O_EXCL"}, {0400, "O_NOCTTY"}, {01000, "O_TRUNC"}, {02000, "O_APPEND"},
	{04000, "O_NONBLOCK"}, {04010000, "O_SYNC"}, {010000, "O_DSYNC"}, {020000, "O_ASYNC"}, {040000, "O_DIRECT"},
	{0100000, "O_LARGEFILE"}, {020200000, "O_TMPFILE"}, {0200000, "O_DIRECTORY"}, {0400000, "O_NOFOLLOW"},
	{01000000, "O_NOATIME"}, {02000000, "O_CLOEXEC"}, {010000000, "O_PATH"}, {0, NULL},
};

static const struct show_flag fcntl_commands[] = {
	{0, "F_DUPFD"}, {1, "F_GETFD"}, {2, "F_SETFD"}, {3, "F_GETFL"}, {4, "F_SETFL"}, {5, "F_GETLK"}, {6, "F_SETLK"},
	{7, "F_SETLKW"}, {8, "F_SETOWN"}, {9, "F_GETOWN"}, {10, "F_SETSIG"}, {11, "F_GETSIG"}, {15, "F_SETOWN_EX"},
	{16, "F_GETOWN_EX"}, {36, "F_OFD_GETLK"}, {37, "F_OFD_SETLK"}, {38, "F_OFD_SETLKW"}, {1024, "F_SETLEASE"},
	{1025, "F_GETLEASE"}, {1026, "F_NOTIFY"}, {1030, "F_DUPFD_CLOEXEC"}, {1031, "F_SETPIPE_SZ"},
	{1032, "F_GETPIPE_SZ"}, {1033, "F_ADD_SEALS"}, {1034, "F_GET_SEALS"}, {0, NULL},
};

/* asm-generic/mman*.h */
static const struct show_flag prot_flags[] = {
	{1, "PROT_READ"}, {2, "PROT_WRITE"}, {4, "PROT_EXEC"}, {0x01000000, "PROT_GROWSDOWN"},
	{0x02000000, "PROT_GROWSUP"}, {0, NULL},
};

static const struct show_flag map_flags[] = {
	{3, "MAP_SHARED_VALIDATE"}, {1, "MAP_SHARED"}, {2, "MAP_PRIVATE"}, {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"},
	{0x40, "MAP_32BIT"}, {0x100, "MAP_GROWSDOWN"}, {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"},
	{0x2000, "MAP_LOCKED"}, {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"}, {0x10000, "MAP_NONBLOCK"},
	{0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x80000, "MAP_SYNC"}, {0x100000, "MAP_FIXED_NOREPLACE"},
	{0, NULL},
};

/* linux/fs.h, asm-generic/signal-defs.h, linux/time.h */
static const struct show_flag whences[] = {
	{0, "SEEK_SET"}, {1, "SEEK_CUR"}, {2, "SEEK_END"}, {3, "SEEK_DATA"}, {4, "SEEK_HOLE"}, {0, NULL},
};
static const struct show_flag sigprocmask_hows[] = {
	{0, "SIG_BLOCK"}, {1, "SIG_UNBLOCK"}, {2, "SIG_SETMASK"}, {0, NULL},
};
static const struct show_flag clocks[] = {
	{0, "CLOCK_REALTIME"}, {1, "CLOCK_MONOTONIC"}, {2, "CLOCK_PROCESS_CPUTIME_ID"}, {3, "CLOCK_THREAD_CPUTIME_ID"},
	{4, "CLOCK_MONOTONIC_RAW"}, {5, "CLOCK_REALTIME_COARSE"}, {6, "CLOCK_MONOTONIC_COARSE"}, {7, "CLOCK_BOOTTIME"},
	{8, "CLOCK_REALTIME_ALARM"}, {9, "CLOCK_BOOTTIME_ALARM"}, {11, "CLOCK_TAI"}, {0, NULL},
};

/* linux/sched.h */
static const struct show_flag clone_flags[] = {
	{0x100, "CLONE_VM"}, {0x200, "CLONE_FS"}, {0x400, "CLONE_FILES"}, {0x800, "CLONE_SIGHAND"},
	{0x1000, "CLONE_PIDFD"}, {0x2000, "CLONE_PTRACE"}, {0x4000, "CLONE_VFORK"}, {0x8000, "CLONE_PARENT"},
	{0x10000, "CLONE_THREAD"}, {0x20000, "CLONE_NEWNS"}, {0x40000, "CLONE_SYSVSEM"}, {0x80000, "CLONE_SETTLS"},
	{0x100000, "CLONE_PARENT_SETTID"}, {0x200000, "CLONE_CHILD_CLEARTID"}, {0x400000, "CLONE_DETACHED"},
	{0x800000, "CLONE_UNTRACED"}, {0x1000000, "CLONE_CHILD_SETTID"}, {0x2000000, "CLONE_NEWCGROUP"},
	{0x4000000, "CLONE_NEWUTS"}, {0x8000000, "CLONE_NEWIPC"}, {0x10000000, "CLONE_NEWUSER"},
	{0x20000000, "CLONE_NEWPID"}, {0x40000000, "CLONE_NEWNET"}, {0x80000000, "CLONE_IO"}, {0, NULL},
};

/* linux/futex.h */
static const struct show_flag futex_operations[] = {
	{0, "FUTEX_WAIT"}, {1, "FUTEX_WAKE"}, {2, "FUTEX_FD"}, {3, "FUTEX_REQUEUE"}, {4, "FUTEX_CMP_REQUEUE"},
	{5, "FUTEX_WAKE_OP"}, {6, "FUTEX_LOCK_PI"}, {7, "FUTEX_UNLOCK_PI"}, {8, "FUTEX_TRYLOCK_PI"},
	{9, "FUTEX_WAIT_BITSET"}, {10, "FUTEX_WAKE_BITSET"}, {11, "FUTEX_WAIT_REQUEUE_PI"},
	{12, "FUTEX_CMP_REQUEUE_PI"}, {13, "FUTEX_LOCK_PI2"}, {0, NULL},
};
#define FUTEX_PRIVATE 128
#define FUTEX_REALTIME 256

/* linux/prctl.h */
static const struct show_flag prctl_options[] = {
	{1, "PR_SET_PDEATHSIG"}, {2, "PR_GET_PDEATHSIG"}, {3, "PR_GET_DUMPABLE"}, {4, "PR_SET_DUMPABLE"},
	{7, "PR_GET_KEEPCAPS"}, {8, "PR_SET_KEEPCAPS"}, {15, "PR_SET_NAME"}, {16, "PR_GET_NAME"},
	{21, "PR_GET_SECCOMP"}, {22, "PR_SET_SECCOMP"}, {23, "PR_CAPBSET_READ"}, {24, "PR_CAPBSET_DROP"},
	{25, "PR_GET_TSC"}, {26, "PR_SET_TSC"}, {29, "PR_SET_TIMERSLACK"}, {30, "PR_GET_TIMERSLACK"},
	{31, "PR_TASK_PERF_EVENTS_DISABLE"}, {32, "PR_TASK_PERF_EVENTS_ENABLE"}, {35, "PR_SET_MM"},
	{36, "PR_SET_CHILD_SUBREAPER"}, {37, "PR_GET_CHILD_SUBREAPER"}, {38, "PR_SET_NO_NEW_PRIVS"},
	{39, "PR_GET_NO_NEW_PRIVS"}, {41, "PR_SET_THP_DISABLE"}, {42, "PR_GET_THP_DISABLE"}, {47, "PR_CAP_AMBIENT"},
	{52, "PR_GET_SPECULATION_CTRL"}, {53, "PR_SET_SPECULATION_CTRL"}, {65, "PR_SET_MDWE"}, {66, "PR_GET_MDWE"},
	{0x53564d41, "PR_SET_VMA"}, {0x59616d61, "PR_SET_PTRACER"}, {0, NULL},
};

/* linux/perf_event.h, asm-generic/ioctls.h */
static const struct show_flag ioctl_requests[] = {
	{0x2400, "PERF_EVENT_IOC_ENABLE"}, {0x2401, "PERF_EVENT_IOC_DISABLE"}, {0x2402, "PERF_EVENT_IOC_REFRESH"},
	{0x2403, "PERF_EVENT_IOC_RESET"}, {0x40082404, "PERF_EVENT_IOC_PERIOD"}, {0x2405, "PERF_EVENT_IOC_SET_OUTPUT"},
	{0x40082406, "PERF_EVENT_IOC_SET_FILTER"}, {0x80082407, "PERF_EVENT_IOC_ID"},
	{0x40042408, "PERF_EVENT_IOC_SET_BPF"}, {0x40042409, "PERF_EVENT_IOC_PAUSE_OUTPUT"},
	{0xc008240a, "PERF_EVENT_IOC_QUERY_BPF"}, {0x4008240b, "PERF_EVENT_IOC_MODIFY_ATTRIBUTES"}, {0x5401, "TCGETS"},
	{0x5402, "TCSETS"}, {0x5403, "TCSETSW"}, {0x5404, "TCSETSF"}, {0x540f, "TIOCGPGRP"}, {0x5410, "TIOCSPGRP"},
	{0x5413, "TIOCGWINSZ"}, {0x5421, "FIONBIO"}, {0x541b, "FIONREAD"}, {0x5450, "FIONCLEX"}, {0x5451, "FIOCLEX"},
	{0, NULL},
};

/* asm/prctl.h */
static const struct show_flag arch_prctl_codes[] = {
	{0x1001, "ARCH_SET_GS"}, {0x1002, "ARCH_SET_FS"}, {0x1003, "ARCH_GET_FS"}, {0x1004, "ARCH_GET_GS"},
	{0x1011, "ARCH_GET_CPUID"}, {0x1012, "ARCH_SET_CPUID"}, {0x5001, "ARCH_SHSTK_ENABLE"},
	{0x5002, "ARCH_SHSTK_DISABLE"}, {0x5003, "ARCH_SHSTK_LOCK"}, {0x5004, "ARCH_SHSTK_UNLOCK"},
	{0x5005, "ARCH_SHSTK_STATUS"}, {0, NULL},
};

size_t show_quoted(char *buf, size_t size, size_t at, const char *bytes, size_t len, bool cut)
{
	at = rt_append(buf, size, at, "\"");
	for (size_t i = 0; i < len; i++) {
		u8 c = (u8)bytes[i];
		bool digit_follows = i + 1 < len && bytes[i + 1] >= '0' && bytes[i + 1] <= '9';

		if (c == '"' || c == '\\')
			at = rt_append(buf, size, at, "\\%c", c);
		else if (c >= ' ' && c < 0x7f)
			at = rt_append(buf, size, at, "%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			at = rt_append(buf, size, at, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
		else
			at = rt_append(buf, size, at, digit_follows ? "\\%03o" : "\\%o", c);
	}
	return rt_append(buf, size, at, cut ? "\"..." : "\"");
}

static size_t add_pointer(char *buf, size_t size, size_t at, u64 value)
{
	return value ? rt_append(buf, size, at, "%#lx", value) : rt_append(buf, size, at, "NULL");
}

static size_t add_string(char *buf, size_t size, size_t at, const struct show_call *c, u64 address)
{
	char text[STRING_SHOWN];
	long len = address ? c->read_str(text, address, sizeof(text)) : -1;

	if (len == -36) /* ENAMETOOLONG: shown as far as it goes */
		return show_quoted(buf, size, at, text, strlen(text), true);
	if (len < 0)
		return add_pointer(buf, size, at, address);
	return show_quoted(buf, size, at, text, (size_t)len, false);
}

static size_t add_bytes(char *buf, size_t size, size_t at, const struct show_call *c, u64 address, s64 len)
{
	char bytes[BYTES_SHOWN];
	size_t n = len < 0 ? 0 : MIN((size_t)len, sizeof(bytes));

	if (!address || len < 0 || c->read(bytes, address, n))
		return add_pointer(buf, size, at, address);
	return show_quoted(buf, size, at, bytes, n, len > (s64)n);
}

/* As much of the attr as its own size field says; a size of 0 means the first published size. */
static size_t add_attr(char *buf, size_t size, size_t at, const struct show_call *c, u64 address)
{
	struct perf_hw_event_2009 hw;
	u8 attr[ATTR_SHOWN] = {0};
	u32 len;

	if (c->abi_2009 && address && !c->read(&hw, address, sizeof(hw)) && !HW_EVENT_IS_TODAYS(hw.config))
		return show_hw_event(buf, size, at, &hw);
	if (!address || c->read(attr, address, ATTR_SIZE_VER0))
		return add_pointer(buf, size, at, address);
	memcpy(&len, attr + ATTR_SIZE_AT, sizeof(len));
	len = MIN(len, (u32)sizeof(attr));
	if (len <= ATTR_SIZE_VER0 || c->read(attr, address, len))
		len = ATTR_SIZE_VER0;
	return show_attr(buf, size, at, attr, len);
}

static size_t add_open_flags(char *buf, size_t size, size_t at, u64 flags)
{
	static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};

	at = rt_append(buf, size, at, "%s", modes[flags & 3]);
	flags &= 0xffffffffu & ~3ul;
	if (flags) {
		at = rt_append(buf, size, at, "|");
		at = show_flags(buf, size, at, flags, open_flags, "");
	}
	return at;
}

static size_t add_futex_op(char *buf, size_t size, size_t at, u32 op)
{
	const char *name = show_value(op & ~(u32)(FUTEX_PRIVATE | FUTEX_REALTIME), futex_operations);

	if (!name)
		return rt_append(buf, size, at, "%#x", op);
	return rt_append(buf, size, at, "%s%s%s", name, op & FUTEX_PRIVATE ? "_PRIVATE" : "",
			 op & FUTEX_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

static size_t add_named(char *buf, size_t size, size_t at, u64 value, const struct show_flag *table)
{
	const char *name = show_value(value, table);

	return name ? rt_append(buf, size, at, "%s", name) : rt_append(buf, size, at, "%d", (int)value);
}

static size_t add_signal(char *buf, size_t size, size_t at, int signo)
{
	const char *name = show_signal(signo);

	return name ? rt_append(buf, size, at, "%s", name) : rt_append(buf, size, at, "%d", signo);
}

static size_t add_code(char *buf, size_t size, size_t at, u64 value, const struct show_flag *table)
{
	const char *name = show_value(value, table);

	return name ? rt_append(buf, size, at, "%s", name) : rt_append(buf, size, at, "%#lx", value);
}

static size_t add_argument(char *buf, size_t size, size_t at, const struct show_call *c, unsigned i)
{
	u64 v = c->args[i];

	switch (c->formats[i]) {
	case 'd': return rt_append(buf, size, at, "%d", (int)v);
	case 'D': return rt_append(buf, size, at, "%ld", (long)v);
	case 'u': return rt_append(buf, size, at, "%u", (u32)v);
	case 'U': return rt_append(buf, size, at, "%lu", v);
	case 'm': return rt_append(buf, size, at, "%#03o", (u32)v);
	case 'f': return rt_append(buf, size, at, "%d", (int)v);
	case 'a': return (int)v == CWD ? rt_append(buf, size, at, "AT_FDCWD") : rt_append(buf, size, at, "%d", (int)v);
	case 'p': return add_pointer(buf, size, at, v);
	case 's': return add_string(buf, size, at, c, v);
	case 'b': return add_bytes(buf, size, at, c, v, (s64)c->args[i + 1]);
	case 'B': return add_bytes(buf, size, at, c, v, c->unfinished ? -1 : c->result);
	case 'e': return add_attr(buf, size, at, c, v);
	case 'O': return add_open_flags(buf, size, at, v);
	case 'P': return show_flags(buf, size, at, v, prot_flags, "PROT_NONE");
	case 'M': return show_flags(buf, size, at, v & 0xffffffffu, map_flags, "0");
	case 'c': return show_flags(buf, size, at, v, clone_flags, "0");
	case 'S': return add_signal(buf, size, at, (int)v);
	case 'w': return add_named(buf, size, at, v, whences);
	case 'h': return add_named(buf, size, at, v, sigprocmask_hows);
	case 'C': return add_named(buf, size, at, v, clocks);
	case 'l': return add_named(buf, size, at, v, fcntl_commands);
	case 'q': return add_named(buf, size, at, v, prctl_options);
	case 'k': return add_code(buf, size, at, (u32)v, ioctl_requests);
	case 'A': return add_code(buf, size, at, v, arch_prctl_codes);
	case 'F': return add_futex_op(buf, size, at, (u32)v);
	default: return rt_append(buf, size, at, v ? "%#lx" : "%lx", v);
	}
}

/* The mode of open(2) means something only when the call can make a file: O_CREAT or O_TMPFILE. */
static bool is_unused_mode(const struct show_call *c, unsigned i)
{
	return c->formats[i] == 'm' && i && c->formats[i - 1] == 'O' && !(c->args[i - 1] & 020000100);
}

static bool returns_pointer(const char *name)
{
	return !strcmp(name, "mmap") || !strcmp(name, "brk") || !strcmp(name, "mremap") || !strcmp(name, "shmat");
}

static size_t add_result(char *buf, size_t size, size_t at, const struct show_call *c)
{
	const char *err = c->result < 0 && c->result >= -4095 ? show_errno((int)-c->result) : NULL;

	if (c->unfinished)
		return rt_append(buf, size, at, " = ?");
	if (err)
		return rt_append(buf, size, at, " = -1 %s", err);
	if (c->result < 0 && c->result >= -4095)
		return rt_append(buf, size, at, " = -1 (error %ld)", -c->result);
	if (c->name && returns_pointer(c->name))
		return rt_append(buf, size, at, " = %#lx", c->result);
	return rt_append(buf, size, at, " = %ld", c->result);
}

size_t show_syscall(char *buf, size_t size, const struct show_call *c)
{
	size_t at = 0;

	if (c->name) {
		at = rt_append(buf, size, at, "%s(", c->name);
		for (unsigned i = 0; c->formats[i] && !is_unused_mode(c, i); i++) {
			at = rt_append(buf, size, at, i ? ", " : "");
			at = add_argument(buf, size, at, c, i);
		}
	} else {
		at = rt_append(buf, size, at, "syscall_%ld(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx", c->nr, c->args[0],
			       c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
	}
	at = rt_append(buf, size, at, ")");
	at = add_result(buf, size, at, c);
	if (!c->name)
		at = rt_append(buf, size, at, " (not known to pcl: passed through)");
	if (c->why)
		at = rt_append(buf, size, at, " (%s)", c->why);
	return at;
}
