/* Reading the host's /proc; see proc.h. */
#include <asm/errno.h>
#include <asm/fcntl.h>
#include <asm/stat.h>
#include "os/session/apart.h"
#include "os/session/proc.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define PF_EXITING 4u /* include/linux/sched.h of the kernel */
#define PF_SIGNALED 0x400u
#define PENDING_KILL (1ul << 8) /* SIGKILL, which the kernel gives to each thread of a process that any signal kills */
#define TICK_NS	  10000000ul /* USER_HZ is 100 on every Linux */

/* The beginning of a file that is wanted. */
struct reading {
	const char *path;
	char *buf;
	size_t size;
};

static long read_path(void *arg)
{
	const struct reading *r = arg;
	size_t len = 0;
	long fd = sys4(__NR_openat, proc_dir(), r->path, O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return fd;
	while (len < r->size - 1 && (n = sys3(__NR_read, fd, r->buf + len, r->size - 1 - len)) > 0)
		len += (size_t)n;
	sys1(__NR_close, fd);
	r->buf[len] = 0;
	return (long)len;
}

long proc_read(const char *path, char *buf, size_t size)
{
	struct reading r = {path, buf, size};

	return apart_run(read_path, &r);
}

static long read_page_entry(void *arg)
{
	u64 *entry = arg, at = *entry / PAGE_SIZE * sizeof(*entry);
	long fd = sys4(__NR_openat, proc_dir(), "self/pagemap", O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return fd;
	n = sys4(__NR_pread64, fd, entry, sizeof(*entry), at);
	sys1(__NR_close, fd);
	return n == sizeof(*entry) ? 0 : -EIO;
}

bool proc_has_page(gva addr)
{
	u64 entry = addr;

	return !apart_run(read_page_entry, &entry) && entry & PAGE_PRESENT;
}

static long read_file(s32 pid, s32 tid, const char *name, char *buf, size_t size)
{
	char path[64];

	rt_snprintf(path, sizeof(path), "%d/task/%d/%s", pid, tid, name);
	return proc_read(path, buf, size);
}

int proc_is_zombie(s32 pid, s32 tid)
{
	char path[48], first;
	struct stat st;
	long n;

	rt_snprintf(path, sizeof(path), "%d/task/%d/cwd", pid, tid);
	n = sys4(__NR_readlinkat, proc_dir(), path, &first, 1);
	if (n != -ENOENT)
		return n == -EACCES ? -EACCES : 0;
	*strrchr(path, '/') = 0;
	return !sys4(__NR_newfstatat, proc_dir(), path, &st, 0);
}

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == ':')
		s++;
	return s;
}

static const char *parse_number(const char *s, u64 *out)
{
	s = skip_blanks(s);
	if (*s == '-')
		s++;
	for (*out = 0; *s >= '0' && *s <= '9'; s++)
		*out = *out * 10 + (u64)(*s - '0');
	return s;
}

/* Fields are numbered as in proc(5): 3 is the state. The command in parentheses may hold anything. */
int proc_read_stat(s32 pid, s32 tid, struct proc_stat *out)
{
	char buf[512];
	const char *s;
	u64 field[40] = {0};
	long len = read_file(pid, tid, "stat", buf, sizeof(buf));
	unsigned int i;

	if (len < 0)
		return (int)len;
	s = strrchr(buf, ')');
	if (!s || s[1] != ' ')
		return -EIO;
	out->state = s[2];
	for (s += 3, i = 4; i < ARRAY_SIZE(field) && *s; i++)
		s = parse_number(s, &field[i]);
	out->minor = field[10];
	out->major = field[12];
	out->cpu_time = (field[14] + field[15]) * TICK_NS;
	out->start_time = field[22] * TICK_NS;
	out->cpu = (u32)field[39];
	out->doomed = field[9] & (PF_EXITING | PF_SIGNALED) || field[31] & PENDING_KILL;
	return 0;
}

/* The numbers of a line, which tabs separate. */
static u32 parse_ids(const char *text, const char *name, s32 *ids, u32 max)
{
	const char *s = strstr(text, name);
	u64 value;
	u32 n = 0;

	for (s = s ? s + strlen(name) : ""; *s == '\t' && n < max; ids[n++] = (s32)value)
		s = parse_number(s, &value);
	return n;
}

int proc_read_ids(s32 pid, s32 tid, s32 (*ids)[1 + PIDNS_DEPTH], u32 max)
{
	char buf[4096];
	long len = read_file(pid, tid, "status", buf, sizeof(buf));
	u32 n;

	if (len < 0)
		return (int)len;
	n = parse_ids(buf, "\nNStgid:", ids[0], max);
	return parse_ids(buf, "\nNSpid:", ids[1], max) == n && n ? (int)n : -ENOENT;
}

int proc_read_cpu_time(s32 pid, s32 tid, u64 *out)
{
	struct proc_stat st;
	char buf[128];
	long len = read_file(pid, tid, "schedstat", buf, sizeof(buf));
	int ret;

	if (len > 0) {
		parse_number(buf, out);
		return 0;
	}
	ret = proc_read_stat(pid, tid, &st);
	if (!ret)
		*out = st.cpu_time;
	return ret;
}

static u64 parse_hex(const char *s)
{
	u64 value = 0;

	for (s = skip_blanks(s); (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f'); s++)
		value = value << 4 | (u64)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
	return value;
}

bool proc_is_killed(s32 pid, s32 tid)
{
	char buf[4096];
	const char *line;

	if (read_file(pid, tid, "status", buf, sizeof(buf)) < 0)
		return false;
	line = strstr(buf, "\nShdPnd:");
	return line && parse_hex(line + strlen("\nShdPnd:")) & PENDING_KILL;
}

/* The sum of the numbers after each occurrence of `name` in the file. */
static int sum_fields(s32 pid, s32 tid, const char *file, const char *name, u64 *out)
{
	char buf[4096];
	const char *s = buf;
	long len = read_file(pid, tid, file, buf, sizeof(buf));
	bool found = false;
	u64 value;

	if (len < 0)
		return (int)len;
	*out = 0;
	while ((s = strstr(s, name))) {
		s = parse_number(s + strlen(name), &value);
		*out += value;
		found = true;
	}
	return found ? 0 : -ENOENT;
}

int proc_read_switches(s32 pid, s32 tid, u64 *out)
{
	return sum_fields(pid, tid, "status", "voluntary_ctxt_switches", out);
}

int proc_read_migrations(s32 pid, s32 tid, u64 *out)
{
	return sum_fields(pid, tid, "sched", "nr_migrations ", out);
}
