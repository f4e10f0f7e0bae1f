/*
 * The start of the runtime in a fresh image, after execveat of the runtime by descriptor: finds its session and its
 * task by what was handed over, and runs the guest's program.
 *
 * Runs in two parts: main_prepare() on the stack that the kernel made, until there is a runtime stack, and main_run()
 * there. What fails here is pcl's or the host's fault, so it is said and ends the process.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include <linux/auxvec.h>
#include "cpu/bank.h"
#include "dbt/dbt.h"
#include "dbt/ibl.h"
#include "dbt/probe.h"
#include "dbt/translate.h"
#include "event/task.h"
#include "os/dump.h"
#include "os/loop.h"
#include "os/mm/vma.h"
#include "os/mm/warm.h"
#include "os/pin/pin.h"
#include "os/session/attach.h"
#include "os/session/handover.h"
#include "os/session/map.h"
#include "os/session/own_faults.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "os/task/load.h"
#include "os/task/split.h"
#include "os/task/stack.h"
#include "perf/perf.h"
#include "rt/fmt.h"
#include "rt/log.h"
#include "rt/reserve.h"
#include "rt/stats.h"
#include "rt/status.h"
#include "rt/stress.h"
#include "rt/string.h"
#include "rt/sys.h"
#include "show/syscall.h"

#define HWCAP2_FSGSBASE_ 2 /* asm/hwcap2.h */

u64 main_prepare(const u64 *kernel_sp);
void main_run(const u64 *kernel_sp) __attribute__((noreturn));

static void __attribute__((noreturn)) fail(const char *what, long err)
{
	log_printf(0, "%s: error %ld", what, -err);
	for (;;)
		sys1(__NR_exit_group, PCL_FAILED);
}

/*
 * Messages go to what descriptor 2 was when the session began, under a number beside our own, so that guests that
 * close or replace their descriptor 2 neither silence pcl nor get its text into their files. Without --strace and --log
 * only a failed check has anything to say, and a guest that closes a pipe is to have closed it: no number is taken.
 */
static void set_up_log(void)
{
	struct session_config *c = &the_process.config;
	s32 fd;

	log_level = (int)c->log_level;
	fd = the_process.runtime_fd - 1;
	for (; (c->strace || c->log_level || c->dump) && c->log_fd == 2 && fd > 2; fd--) {
		if (sys2(__NR_fcntl, fd, F_GETFD) != -EBADF)
			continue;
		if (sys2(__NR_dup2, 2, fd) == fd)
			c->log_fd = fd;
		break;
	}
	log_fd = c->log_fd;
}

static void mend(struct lock *l)
{
	stat_inc(locks_mended);
	if (l->rank == RANK_MM)
		vma_mend();
	else if (l->rank == RANK_DBT)
		dbt_mend();
	else if (l->rank == RANK_THREADS)
		thread_list_mend();
	/* The others' lists and sets change by single stores; for signal actions see doc/linux-quirks.md. */
}

static void __attribute__((noreturn)) fail_build(u64 build)
{
	log_printf(0, "the runtime (pclrt) is of build %lx, the command of %lx: both must be of one build", BUILD_ID,
		   build);
	for (;;)
		sys1(__NR_exit_group, PCL_FAILED);
}

/* What the image before this one, or the launcher, has to say. */
static void take_handover(const u64 *kernel_sp)
{
	struct stack_kernel k;
	u64 build;
	int ret;

	stack_parse_kernel(kernel_sp, &k);
	ret = k.handover ? handover_take(k.handover, &build) : -EINVAL;
	if (ret == -EXDEV)
		fail_build(build);
	if (ret || handover.config.magic != ARENA_MAGIC ||
	    handover.config.size_of_arena != sizeof(struct arena))
		fail("this program is started by pcl only", -EINVAL);
}

u64 main_prepare(const u64 *kernel_sp)
{
	struct thread *t;
	int ret;

	take_handover(kernel_sp);
	the_process.config = handover.config;
	the_process.runtime_fd = handover.config.runtime_fd;
	ret = map_arena(the_process.runtime_fd + ARENA_FD);
	if (ret)
		fail("cannot map the session's memory", ret);
	set_up_log();
	reserve_in_steps = the_process.config.strict_overcommit;
	stats_place = &arena()->stats;
	stat_inc(execs);
	stress_ways = the_process.config.stress;
	lock_host = (struct lock_host){thread_holds_locks, thread_name_is_gone, mend};
	dump_init();
	lock_init(&the_process.threads_lock, RANK_THREADS);
	t = thread_alloc(&the_process);
	if (!t)
		fail("cannot allocate the first thread", -ENOMEM);
	return thread_area(t) + THREAD_RT_TOP;
}

/* The line of --strace for the call that began this image; its arguments are gone with the old one. */
static void log_exec(const struct thread *t)
{
	char line[ARENA_PATH + 64];
	size_t len = rt_append(line, sizeof(line), 0, "[%d] execve(", t->tid);

	len = show_quoted(line, sizeof(line), len, handover.name, strlen(handover.name), false);
	len = rt_append(line, sizeof(line), len, ", ...) = 0\n");
	log_write(line, len);
}

static void find_task(struct thread *t)
{
	int ret;

	t->pid = (s32)sys0(__NR_getpid);
	t->tid = (s32)sys0(__NR_gettid);
	t->task = session_find_self(handover.slot);
	if (!t->task)
		fail("no task of the session", -ESRCH);
	ret = thread_map_bank(t, t->task);
	if (ret)
		fail("cannot map the counters", ret);
	t->cpu = thread_cpu(t);
	t->cpu->slot = task_slot(t->task);
	own_faults_image_begins(t);
	cpu_take_bank(t->cpu);
	t->group = process_page_alloc(t->proc);
	if (!t->group)
		fail("cannot allocate", -ENOMEM);
	t->group->pid = t->pid;
	t->group->refs = t->group->nr_threads = 1;
	thread_list_add(t);
	pin_program_begins(t, !handover.fd);
	if (the_process.config.strace)
		log_exec(t);
}

/* The first image of a session: nobody sees that files are opened. */
static void look_around(void)
{
	u32 cpu = the_process.config.pin_cpu;

	host_find_cpus(&arena()->cpus);
	if (held_still(PIN_CPUS)) { /* the others are there, but not online */
		memset(arena()->cpus.online, 0, sizeof(arena()->cpus.online));
		arena()->cpus.online[cpu / 64] = 1ul << cpu % 64;
	}
	clock_look_around(&arena()->clock);
}

/* By what the processor does well. Later images of the session have the same. */
static void choose_forms(struct session_config *c)
{
	struct processor_probe found;

	if (c->landing && c->bswap)
		return;
	probe_processor(&found);
	if (!c->landing)
		c->landing = 1 + probe_landing(&found);
	if (!c->bswap)
		c->bswap = 1 + probe_bswap_is_fast(&found);
}

static void start_translator(struct thread *t, const u64 *kernel_sp)
{
	const struct session_config *c = &the_process.config;
	struct stack_kernel k;
	int ret;

	dbt_options.no_traces = c->no_traces;
	dbt_options.no_links = c->no_links;
	dbt_options.no_ibl = c->no_ibl;
	dbt_options.no_spans = c->no_spans;
	dbt_options.no_unroll = c->no_unroll;
	dbt_options.no_liveness = c->no_liveness;
	dbt_options.no_approach = c->no_approach;
	dbt_options.prefetch = (enum prefetch_returns)c->prefetch;
	dbt_options.no_siblings = c->no_siblings;
	dbt_options.dump = c->dump;
	dbt_options.dump_at = c->dump_at;
	dbt_options.one_insn = c->one_insn_blocks;
	dbt_options.small_cache = c->small_cache;
	dbt_options.dual_map = c->dual_map;
	choose_forms(&the_process.config);
	dbt_options.landing = (enum landing_form)(c->landing - 1);
	dbt_options.bswap_is_fast = c->bswap == 2;
	ret = dbt_init();
	if (ret)
		fail("cannot reserve the code cache", ret);
	dbt_cpu_init(t->cpu);
	cpu_never_sparse = c->no_polls;
	stack_parse_kernel(kernel_sp, &k);
	dbt_use_fsgsbase(stack_kernel_auxv(&k, AT_HWCAP2) & HWCAP2_FSGSBASE_);
}

void main_run(const u64 *kernel_sp)
{
	struct thread *t = thread_current();
	struct perf_executed before = {0};
	struct load_result loaded;
	int ret;

	ret = attach_events(!handover.fd);
	if (ret)
		fail("cannot make the event tables", ret);
	if (!handover.fd)
		look_around();
	if (handover.fd) {
		before.tid = arena_task(handover.slot)->tid;
		memcpy(before.comm, arena_task(handover.slot)->comm, sizeof(before.comm));
	}
	find_task(t);
	ret = sigframe_init();
	if (ret)
		fail("the processor has no XSAVE or more state than pcl knows", ret);
	ret = signal_init(t);
	if (ret)
		fail("cannot set up signals", ret);
	thread_use_slot(t, t->cpu->slot);
	__atomic_store_n(&t->task->images, t->task->images + 1, __ATOMIC_RELEASE);
	session_exec_done(t->task);
	start_translator(t, kernel_sp);
	load_program(t, kernel_sp, &loaded);
	t->proc->vdso = loaded.vdso;
	ret = perf_after_exec(t);
	if (ret)
		fail("cannot take the event descriptors over", ret);
	event_task_exec(t->cpu->slot);
	warm_start(t->cpu, loaded.entry);
	__atomic_store_n(&event_ctx(t->cpu->slot)->rearm, 1, __ATOMIC_RELAXED); /* timers end with the old image */
	__atomic_store_n(&event_ctx(t->cpu->slot)->hits_changed, 1, __ATOMIC_RELAXED);
	perf_executed(t, &loaded, &before);
	perf_switches(t, 0);
	if (handover.nr)
		perf_call_made(t, handover.nr);
	split_now(t);
	own_faults_image_settle(t);
	loop_run(t);
}
