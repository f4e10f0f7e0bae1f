/* See split.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "cpu/bank.h"
#include "event/files.h"
#include "event/task.h"
#include "os/mm/vma.h"
#include "os/session/attach.h"
#include "os/session/clock.h"
#include "os/session/genuine.h"
#include "os/session/map.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "os/task/split.h"
#include "perf/perf.h"
#include "rt/file_size.h"
#include "rt/log.h"
#include "rt/status.h"
#include "rt/string.h"
#include "rt/sys.h"

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8u
#define MFD_EXEC	0x10u
#endif
#define FIRST_SLOT 1

bool split_is_due(void)
{
	u32 uid[3];
	struct stat st;

	if (the_process.config.users != USERS_SPLIT || sys2(__NR_fstat, the_process.runtime_fd + ARENA_FD, &st) ||
	    sys3(__NR_getresuid, &uid[0], &uid[1], &uid[2]))
		return false;
	return st.st_uid != uid[0] && st.st_uid != uid[1] && st.st_uid != uid[2];
}

/* ---- the new session's files ---- */

/* Kernels before 6.3 do not know the flag. */
static s32 make_file(const char *name, u32 flag)
{
	long fd = sys2(__NR_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flag);

	return (s32)(fd == -EINVAL ? sys2(__NR_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd);
}

/* As cli/launch.c does it. */
static long size_and_seal(s32 fd)
{
	long ret = file_size_set(fd, ARENA_FILE_SIZE);

	if (!ret)
		ret = sys2(__NR_fchmod, fd, S_IRUSR | S_IWUSR);
	return ret ? ret : sys3(__NR_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int split_begin(struct split *s)
{
	long ret;

	s->spare = -1;
	s->memory = make_file("pcl", MFD_NOEXEC_SEAL);
	ret = s->memory < 0 ? s->memory : size_and_seal(s->memory);
	if (!ret) {
		s->spare = make_file("pclrt", MFD_EXEC);
		ret = MIN(s->spare, 0);
	}
	if (ret)
		split_cancel(s);
	return (int)ret;
}

void split_cancel(const struct split *s)
{
	if (s->memory >= 0)
		sys1(__NR_close, s->memory);
	if (s->spare >= 0)
		sys1(__NR_close, s->spare);
}

/* ---- leaving ---- */

static void say_so(const struct thread *t)
{
	if (!event_task_counted(t->cpu->slot))
		return;
	__atomic_fetch_add(&arena()->leavers, 1, __ATOMIC_RELAXED);
	log_printf(0,
		   "%s[%d] has given up its user: from here on it is a session of its own and not counted "
		   "(--users=any counts it)",
		   t->task->comm, t->pid);
}

/* What was an event answers from now on as one in its error state: with the end of the file. */
static void close_events(struct thread *t)
{
	u32 slot = t->cpu->slot;
	s32 ends[2] = {-1, -1};

	for (s32 fd; (fd = event_files_next(slot, 0)) >= 0; event_files_close(slot, (u64)fd)) {
		long flags = sys2(__NR_fcntl, fd, F_GETFD);

		if (!perf_is_event(t, (u64)fd) || (ends[0] < 0 && sys2(__NR_pipe2, ends, O_CLOEXEC)))
			continue;
		sys3(__NR_dup3, ends[0], fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	}
	if (ends[0] >= 0) {
		sys1(__NR_close, ends[0]);
		sys1(__NR_close, ends[1]);
	}
	genuine_forget_range(0, ~0ul);
}

/* Ring buffers that the guest has mapped are plain memory from now on. */
static void unmap_rings(void)
{
	const struct vma *v;
	gva at = 0;

	vma_lock();
	while ((v = vma_next_locked(at))) {
		struct vma plain = *v;

		at = v->end;
		if (v->kind != VMA_EVENT)
			continue;
		sys6(__NR_mmap, v->start, at - v->start, v->prot & (PROT_READ | PROT_WRITE),
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		plain.kind = VMA_PLAIN;
		plain.flags = 0;
		vma_insert_locked(&plain);
	}
	vma_unlock();
}

/* ---- the new session ---- */

/* The only task of the new session, as it is known in the old one. */
static void fill_slot(struct task *to, const struct task *from)
{
	to->generation = 1;
	to->pid = from->pid;
	to->tid = from->tid;
	to->ppid = from->ppid;
	to->depth = from->depth;
	memcpy(to->inner, from->inner, sizeof(to->inner));
	to->children_apart = from->children_apart;
	to->start_time = from->start_time;
	to->threaded = from->threaded;
	memcpy(to->comm, from->comm, sizeof(to->comm));
	to->state = TASK_ALIVE;
}

static void __attribute__((noreturn)) fail(const char *what, long err)
{
	log_printf(0, "a new session for another user: %s: error %ld", what, -err);
	for (;;)
		sys1(__NR_exit_group, PCL_FAILED);
}

static void use_files(const struct split *s)
{
	s32 first = the_process.runtime_fd;

	if (sys3(__NR_dup3, s->memory, first + ARENA_FD, 0) < 0 || sys3(__NR_dup3, s->spare, first + SPARE_FD, 0) < 0 ||
	    sys3(__NR_dup3, first + PROC_FD, first + CACHE_FD, 0) < 0)
		fail("its descriptors", -EBADF);
	split_cancel(s);
}

static u64 new_session_id(void)
{
	u64 id = 0;

	return sys3(__NR_getrandom, &id, sizeof(id), 0) == sizeof(id) ? id : host_clock_mono();
}

void split_session(struct thread *t, const struct split *s)
{
	struct task was = *t->task;
	struct arena *a = arena();
	struct session_cpus cpus = a->cpus;
	u32 trusted = a->clock.tsc_trusted, in_vdso = a->clock.in_vdso, pid_namespace = a->pid_namespace;
	long ret;

	signal_host_mask(~(SIG_BIT(SIG_KICK) | SIG_BIT(SIG_FENCE) | SIG_BIT(SIGSYS)));
	say_so(t);
	close_events(t);
	unmap_rings();
	session_task_end(t->task);
	perf_thread_ends(t);
	t->cpu->calls = NULL;
	use_files(s);
	ret = map_arena_again(the_process.runtime_fd + ARENA_FD);
	if (ret)
		fail("its memory", ret);
	slock_init(&a->lock, RANK_SESSION);
	a->cpus = cpus;
	a->clock = (struct session_clock){
		.start = clock_read_pair(host_clock_mono), .tsc_trusted = trusted, .in_vdso = in_vdso};
	a->pid_namespace = pid_namespace;
	a->tasks_high = FIRST_SLOT + 1;
	the_process.config.session_id = new_session_id();
	the_process.config.split_later = 0;
	the_process.config.warm_settings = 0;
	ret = attach_events(true);
	if (ret)
		fail("its tables", ret);
	fill_slot(&a->tasks[FIRST_SLOT], &was);
	t->task = session_find_self(FIRST_SLOT);
	ret = thread_map_bank(t, t->task);
	if (ret)
		fail("its counters", ret);
	t->cpu->slot = FIRST_SLOT;
	cpu_take_bank(t->cpu);
	thread_use_slot(t, FIRST_SLOT);
	t->sigtime.cause = 0;
	t->switches.known = 0;
	stats_place = &a->stats;
	signal_host_mask(t->sigmask & ~SIG_NEVER_BLOCKED);
}

void split_slowly(struct thread *t)
{
	struct split s;
	int ret;

	the_process.config.split_later = 0;
	if (!split_is_due())
		return;
	ret = split_begin(&s);
	if (ret)
		fail("its memory", ret);
	split_session(t, &s);
}
