/* Side-band records of tasks: names, relations, namespaces, cgroups, switches. See perf.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "event/task.h"
#include "os/files/vfile.h"
#include "os/session/apart.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/session.h"
#include "perf/perf.h"
#include "perf/sideband.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define CGROUP2_MAGIC 0x63677270

/* ---- tasks ---- */

/* The name that the kernel has made of what was written, without the newline that the file ends in. */
static bool read_name(const char *path, char *name, size_t size)
{
	long n = proc_read(path, name, size);

	if (n <= 0)
		return false;
	name[n - 1] = 0;
	return true;
}

/* Only files that the kernel makes up stay empty when they are written to. */
static bool is_made_up(s32 fd)
{
	struct stat st;

	return sys2(__NR_fstat, fd, &st) == 0 && S_ISREG(st.st_mode) && !st.st_size;
}

void perf_written_slowly(struct thread *t, s32 fd)
{
	char link[32], path[64], name[sizeof(t->task->comm) + 2], old[sizeof(t->task->comm)], *number;
	u32 of = 0;
	long n;
	u64 tid;

	if (!is_made_up(fd))
		return;
	rt_snprintf(link, sizeof(link), "self/fd/%d", fd);
	n = sys4(__NR_readlinkat, proc_dir(), link, path, sizeof(path) - 1);
	path[MAX(n, 0l)] = 0;
	if (n <= (long)sizeof("/comm") || strncmp(path, "/proc/", 6) || strcmp(path + n - 5, "/comm") ||
	    !read_name(path, name, sizeof(name)))
		return;
	path[n - 5] = 0;
	number = strrchr(path, '/') + 1;
	if (!rt_parse_u64(number, &tid))
		of = session_find_tid(vfile_proc_pidns(t), (s32)tid);
	if (!of)
		return;
	memcpy(old, arena_task(of)->comm, sizeof(old));
	rt_snprintf(arena_task(of)->comm, sizeof(old), "%s", name);
	if (perf_traces_wanted(t->cpu->slot))
		perf_trace_rename(t, arena_task(of)->tid, old, arena_task(of)->comm);
	sideband_comm(t->cpu->slot, of, name, false);
}

static void namespaces_of(const struct task *task, struct sideband_namespaces *out)
{
	static const char names[SIDEBAND_NAMESPACES][8] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	char path[64];
	struct stat st;

	memset(out, 0, sizeof(*out));
	out->task = (task_id)(task - arena()->tasks);
	for (u32 i = 0; i < SIDEBAND_NAMESPACES; i++) {
		rt_snprintf(path, sizeof(path), "%d/task/%d/ns/%s", task->pid, task->tid, names[i]);
		if (sys4(__NR_newfstatat, proc_dir(), path, &st, 0))
			continue;
		out->ns[i].dev = st.st_dev;
		out->ns[i].ino = st.st_ino;
	}
}

void perf_namespaces_changed(struct thread *t)
{
	struct sideband_namespaces ns;

	if (!perf_sideband_wanted(t, SB_NAMESPACES))
		return;
	namespaces_of(t->task, &ns);
	sideband_namespaces(t->cpu->slot, &ns);
}

void perf_forked(struct thread *t, u32 slot, u32 generation)
{
	task_id parent = event_task_forking(slot);
	struct sideband_namespaces ns;
	bool wanted = parent && sideband_wanted(parent, SB_NAMESPACES);

	/* Asked for first: as long as the fork is not recorded the child has not run, and is there. */
	if (wanted)
		namespaces_of(arena_task(slot), &ns);
	parent = event_task_forked(slot, generation, wanted ? &ns : NULL);
	if (parent && perf_traces_wanted(parent))
		perf_trace_fork(t, parent, slot);
	if (parent && sideband_wanted(parent, SB_BIRTH))
		sideband_birth(parent, slot, arena_task(slot)->comm);
}

/* ---- cgroups ---- */

/* Of the unified hierarchy: there the perf_event controller is on by itself. */
static bool is_cgroup(const char *path)
{
	struct statfs fs;

	return !sys2(__NR_statfs, path, &fs) && fs.f_type == CGROUP2_MAGIC;
}

/* The part of the path that lies below the mount point; the path is a cgroup's. */
static const char *below_mount(char *path)
{
	char *slash = path;

	for (;;) {
		char *next = strchr(slash + 1, '/');
		bool found;

		if (!next)
			return slash;
		*next = 0;
		found = is_cgroup(path);
		*next = '/';
		if (found)
			return next;
		slash = next;
	}
}

/* A directory that was made. */
struct made {
	const char *path;
	char full[ARENA_PATH]; /* out: where it is; "": no cgroup */
	u64 ino;
};

/* For apart_run(). */
static long look_at(void *arg)
{
	struct made *m = arg;
	char link[40], text[ARENA_PATH + 64];
	const char *path = m->path;
	s32 dir = apart_path(text, AT_FDCWD, &path);
	long fd = sys4(__NR_openat, dir, path, O_PATH | O_CLOEXEC, 0), n;
	struct stat st;

	m->full[0] = 0;
	if (fd < 0)
		return fd;
	rt_snprintf(link, sizeof(link), "thread-self/fd/%ld", fd);
	n = sys4(__NR_readlinkat, proc_dir(), link, m->full, sizeof(m->full) - 1);
	m->full[MAX(n, 0l)] = 0;
	if (!is_cgroup(m->full) || sys2(__NR_fstat, fd, &st))
		m->full[0] = 0;
	else
		m->ino = st.st_ino;
	return sys1(__NR_close, fd);
}

/* cgroup ids are the inode numbers of their directories. */
static void record_cgroup(struct thread *t, const char *path)
{
	struct made m = {.path = path};

	apart_run(look_at, &m);
	if (m.full[0])
		sideband_cgroup(t->cpu->slot, m.ino, below_mount(m.full));
}

void perf_mkdir_slowly(struct thread *t, s32 dirfd, gva path)
{
	char full[ARENA_PATH];
	size_t at = 0;

	full[0] = 0;
	if (dirfd != AT_FDCWD)
		at = (size_t)rt_snprintf(full, sizeof(full), "/proc/self/fd/%d/", dirfd);
	if (guest_read_str(full + at, path, sizeof(full) - at) < 0)
		return;
	record_cgroup(t, full[at] == '/' ? full + at : full);
}

/* ---- switches ---- */

static void record_switches(struct thread *t, bool preempted, u64 out_time, u64 in_time)
{
	struct sideband_switch out = {.out = true, .preempted = preempted, .time = out_time}, in = {.time = in_time};

	sideband_switch(t->cpu->slot, &out);
	sideband_switch(t->cpu->slot, &in);
}

void perf_switches_slowly(struct thread *t, u64 since)
{
	struct rusage ru;
	u64 now = host_clock_perf(), i;

	if (sys2(__NR_getrusage, RUSAGE_THREAD, &ru))
		return;
	if (t->switches.known) {
		since = MAX(since ? since : now, t->switches.recorded);
		for (i = t->switches.voluntary; i < (u64)ru.ru_nvcsw; i++, since = now)
			record_switches(t, false, since, now);
		for (i = t->switches.involuntary; i < (u64)ru.ru_nivcsw; i++)
			record_switches(t, true, now, now);
	}
	t->switches.voluntary = (u64)ru.ru_nvcsw;
	t->switches.involuntary = (u64)ru.ru_nivcsw;
	t->switches.recorded = now;
	t->switches.known = 1;
}

void perf_first_switch(struct thread *t)
{
	struct sideband_switch in = {.out = false};

	perf_cgroup_look(t, true); /* clone3(2) may have put it elsewhere than its parent */
	t->switches.known = 0;
	if (!perf_sideband_wanted(t, SB_SWITCH))
		return;
	in.time = host_clock_perf();
	sideband_switch(t->cpu->slot, &in);
	perf_switches_slowly(t, 0);
}
