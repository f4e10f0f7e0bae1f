/*
 * event/host.h for pcl: what the event subsystem learns about tasks, clocks and privileges.
 *
 * The calling thread asks the kernel directly; about others /proc knows. What a task left at its end is in its slot.
 */
#include <asm/errno.h>
#include <linux/capability.h>
#include <linux/resource.h>
#include <linux/time.h>
#include "os/session/arena.h"
#include "os/session/facts.h"
#include "os/session/fence.h"
#include "os/session/host.h"
#include "os/session/own_faults.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/session.h"
#include "os/session/thread.h"
#include "pmu/host.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define CLOCK_OF_THREAD 6 /* in a clock id made from a thread id: per thread, scheduler time */
#define CLOCK_OF_PROCESS 2 /* from a process id */
#define CAP_PERFMON_	38

/* 0: there is no such clock. */
static u64 clock_ns(int clock)
{
	u64 ts[2] = {0, 0};

	sys2(__NR_clock_gettime, clock, ts);
	return ts[0] * 1000000000ul + ts[1];
}

task_id host_current(void)
{
	struct thread *t = thread_current();

	return t && t->cpu ? t->cpu->slot : 0;
}

static bool is_dead_state(const struct task *task)
{
	u32 state = __atomic_load_n(&task->state, __ATOMIC_ACQUIRE);

	return state == TASK_DEAD || state == TASK_FREE;
}

static bool is_own_process(const struct task *task)
{
	const struct thread *t = thread_current();

	return t && t->task && t->task->pid == task->pid;
}

/*
 * A thread of this process, or the only one of another: the kernel has a clock for them. For other threads /proc, which
 * knows no better: both are behind by up to a tick of the scheduler, but for this process's.
 */
static u64 others_clock(const struct task *task)
{
	s32 pid, tid;
	u64 ns = 0;

	if (pidns_ids(task, pidns_own(), &pid, &tid)) {
		if (is_own_process(task))
			return clock_ns((~tid << 3) | CLOCK_OF_THREAD);
		if (!__atomic_load_n(&task->threaded, __ATOMIC_ACQUIRE))
			return clock_ns((~pid << 3) | CLOCK_OF_PROCESS);
	}
	return session_task_exists(task) && !facts_ask(task_slot(task), FACT_CLOCK, &ns) ? ns : 0;
}

u64 host_task_clock(task_id id)
{
	struct task *task = session_task(id);
	u64 ns;

	if (!task || task->state == TASK_NEW)
		return 0;
	if (id == host_current() && !is_dead_state(task))
		return clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (is_dead_state(task))
		return task->cputime_at_exit;
	ns = others_clock(task);
	return ns ? ns : task->cputime_at_exit;
}

static const enum fact fact_of[HOST_COUNTS] = {
	[HOST_FAULTS_MIN] = FACT_FAULTS_MIN,
	[HOST_FAULTS_MAJ] = FACT_FAULTS_MAJ,
	[HOST_SWITCHES] = FACT_SWITCHES,
	[HOST_MIGRATIONS] = FACT_MIGRATIONS,
};

bool host_own_faults(u64 *faults)
{
	struct rusage ru;

	if (sys2(__NR_getrusage, RUSAGE_THREAD, &ru))
		return false;
	faults[0] = (u64)ru.ru_minflt;
	faults[1] = (u64)ru.ru_majflt;
	return true;
}

static u64 own_count(const struct task *task, enum host_count what)
{
	struct rusage ru;
	u64 value = 0, faults[2];

	switch (what) {
	case HOST_MIGRATIONS:
		facts_ask(task_slot(task), FACT_MIGRATIONS, &value);
		return value;
	case HOST_SWITCHES:
		return sys2(__NR_getrusage, RUSAGE_THREAD, &ru) ? 0 : (u64)(ru.ru_nvcsw + ru.ru_nivcsw);
	default:
		return own_faults_of_guest(thread_current(), faults) ? faults[what == HOST_FAULTS_MAJ] : 0;
	}
}

static u64 count_at_exit(const struct task *task, enum host_count what)
{
	switch (what) {
	case HOST_FAULTS_MIN:
		return task->faults_at_exit[0];
	case HOST_FAULTS_MAJ:
		return task->faults_at_exit[1];
	case HOST_SWITCHES:
		return task->switches_at_exit;
	default:
		return task->migrations_at_exit;
	}
}

u64 host_task_count(task_id id, enum host_count what)
{
	struct task *task = session_task(id);
	u64 value;

	if (!task || task->state == TASK_NEW)
		return 0;
	if (id == host_current() && !is_dead_state(task))
		return own_count(task, what);
	if (!is_dead_state(task) && session_task_exists(task) && !facts_ask(id, fact_of[what], &value))
		return value;
	return count_at_exit(task, what);
}

#define FIND_STEPS 10000
#define FIND_STEPS_RUNNING 20 /* a task that runs has begun by then */

/*
 * A task may exist for the kernel, and be known to its parent, before it has run and filled in its slot: it is waited
 * for. One that has not begun after a while may be stopped: it is used as it is, if its parent has told its ids.
 */
task_id host_find_task(s32 pid)
{
	static const struct {
		s64 sec, nsec;
	} pause = {0, 100000};
	u32 pidns = pidns_own();
	task_id id = session_find_tid(pidns, pid);

	for (int i = 0; !id && i < FIND_STEPS && session_expects(pid); i++) {
		sys2(__NR_nanosleep, &pause, 0);
		id = session_find_tid(pidns, pid);
		if (!id && !pidns && i >= FIND_STEPS_RUNNING)
			id = session_find_made(pid);
	}
	/* It may have begun between the last two looks. */
	return id ? id : session_find_tid(pidns, pid);
}

s32 host_task_tgid(task_id id)
{
	struct task *task = session_task(id);

	return task ? task->pid : 0;
}

s32 host_task_tid(task_id id)
{
	struct task *task = session_task(id);

	return task ? task->tid : 0;
}

u32 host_pidns(void)
{
	return pidns_own();
}

void host_task_ids(task_id id, u32 pidns, s32 *tgid, s32 *tid)
{
	const struct thread *t = thread_current();
	const struct task *task = likely(t && t->cpu && t->cpu->slot == id) ? t->task : session_task(id);

	*tgid = *tid = 0;
	if (likely(task))
		pidns_ids(task, pidns, tgid, tid);
}

/*
 * The kernel says 0 for a parent outside of the namespace; then it is the one that made the process, as far as anyone
 * knows.
 */
static s32 parent_outside(const struct task *task)
{
	u32 slot = session_find_tid(pidns_own(), (s32)sys0(__NR_getppid));

	return slot ? arena_task(slot)->pid : task->ppid;
}

static s32 translate(s32 pid, u32 pidns)
{
	u32 slot = session_find_tid(0, pid);
	s32 its_pid = 0, its_tid;

	if (slot)
		pidns_ids(arena_task(slot), pidns, &its_pid, &its_tid);
	return its_pid;
}

s32 host_task_ppid(task_id id, u32 pidns)
{
	struct task *task = session_task(id);
	bool own;

	if (!task)
		return 0;
	/* A filter of the guest's may kill for the question. */
	own = is_own_process(task) && !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED);
	if (own && pidns == pidns_own())
		return (s32)sys0(__NR_getppid);
	if (likely(!pidns))
		return own ? parent_outside(task) : task->ppid;
	return translate(task->ppid, pidns);
}

u32 host_task_generation(task_id id)
{
	return id < ARENA_TASKS ? arena()->tasks[id].generation : 0;
}

static bool has_capability(int cap)
{
	struct {
		u32 version;
		s32 pid;
	} header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct {
		u32 effective, permitted, inheritable;
	} data[2];

	if (sys2(__NR_capget, &header, data))
		return false;
	return data[cap / 32].effective >> (cap % 32) & 1;
}

bool host_may_lock(void)
{
	return has_capability(CAP_IPC_LOCK);
}

u32 host_uid(void)
{
	return (u32)sys0(__NR_getuid);
}

bool host_perfmon_capable(void)
{
	return has_capability(CAP_PERFMON_) || has_capability(CAP_SYS_ADMIN);
}

/*
 * Whoever may see where the task's directory is may observe it: the kernel checks just that. A zombie has none, and a
 * path may be too long to be shown.
 */
bool host_may_observe(task_id id)
{
	struct task *task = session_task(id);
	char path[40], first;
	long ret;

	if (!task)
		return false;
	if (is_own_process(task))
		return true;
	rt_snprintf(path, sizeof(path), "%d/cwd", task->pid);
	ret = sys4(__NR_readlinkat, proc_dir(), path, &first, 1);
	return ret > 0 || ret == -ENAMETOOLONG || proc_is_zombie(task->pid, task->pid) == 1;
}

/*
 * The online CPUs as in /sys/devices/system/cpu/online: "0-3,8". Without /sys those that the caller may use.
 */
static const char *parse_range(const char *s, struct session_cpus *cpus)
{
	u32 from = 0, to;

	for (; *s >= '0' && *s <= '9'; s++)
		from = from * 10 + (u32)(*s - '0');
	to = from;
	if (*s == '-')
		for (s++, to = 0; *s >= '0' && *s <= '9'; s++)
			to = to * 10 + (u32)(*s - '0');
	for (; from <= to && from < ARENA_CPUS; from++)
		cpus->online[from / 64] |= 1ul << (from % 64);
	return s;
}

void host_find_cpus(struct session_cpus *cpus)
{
	char buf[1024];
	const char *s = buf;
	u32 cpu;

	if (proc_read("/sys/devices/system/cpu/online", buf, sizeof(buf)) > 0) {
		while (*s >= '0' && *s <= '9') {
			s = parse_range(s, cpus);
			if (*s == ',')
				s++;
		}
	} else {
		sys3(__NR_sched_getaffinity, 0, sizeof(cpus->online), cpus->online);
	}
	for (cpu = 0; cpu < ARENA_CPUS; cpu++)
		if (cpus->online[cpu / 64] >> (cpu % 64) & 1)
			cpus->n = cpu + 1;
}

u32 host_nr_cpus(void)
{
	return MIN(arena()->cpus.n, ARENA_CPUS);
}

bool host_cpu_online(u32 cpu)
{
	return cpu < host_nr_cpus() && (arena()->cpus.online[cpu / 64] >> (cpu % 64) & 1);
}

u32 host_current_cpu(void)
{
	u32 cpu = 0;

	if (likely(arch_current_cpu(&cpu)))
		return cpu;
	sys3(__NR_getcpu, &cpu, 0, 0);
	return cpu;
}

u32 host_task_cpu(task_id id)
{
	u64 cpu;

	if (id == host_current())
		return host_current_cpu();
	return session_task(id) && !facts_ask(id, FACT_CPU, &cpu) ? (u32)cpu : 0;
}

/*
 * The target is interrupted only in translated code: everywhere else it looks at bank->want before it goes on there.
 * Barrier A: want is written before in_cache is read here; the target writes in_cache before dbt_run() reads want.
 */
void host_kick(task_id id)
{
	struct task *task = session_task(id);

	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* A */
	if (task && id != host_current() && __atomic_load_n(&task->in_cache, __ATOMIC_RELAXED))
		signal_kick(task);
}

struct bank *host_task_bank(task_id task)
{
	return arena_bank(task);
}

struct cpu *host_own_cpu(void)
{
	return thread_own()->cpu;
}

int host_copy_in(void *to, gva from, size_t n)
{
	return guest_read(to, from, n);
}

int host_copy_out(gva to, const void *from, size_t n)
{
	return guest_write(to, from, n);
}

long host_copy_string(char *to, gva from, size_t size)
{
	return guest_read_str(to, from, size);
}
