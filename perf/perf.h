/*
 * Performance counters as the guest meets them: what the personality (os/) calls, and nothing else of perf/.
 *
 * event/ knows what an event is and pmu/ where counts come from. This room is between both and Linux: the system calls
 * and mappings of events, wakeups and signals, samples and what they show of the guest, breakpoints, tracepoints,
 * side-band records.
 *
 * All functions are called by the thread that it is about, outside translated code, without locks if the name does not
 * end in _locked, and after what they record has happened, if they do not say otherwise. While no event wants it,
 * each costs a look at one or two words.
 *
 *   perf/sys_perf.c         the system calls that have to do with descriptors of events
 *   perf/sys_passing.c      descriptors that come from other processes
 *   perf/sys_unfit.c        what else can be done with a descriptor, but not with an event's
 *   perf/abi_2009.c         the same through the interface of 2009
 *   perf/mmap.c             ring buffers in the guest's memory
 *   perf/x86_64/rdpmc.c            the instruction
 *   perf/notify.c           those who wait for events, and their signals
 *   perf/sampling.c         what a kernel's overflow interrupt does
 *   perf/snapshot.c         what a sample shows of the guest; perf/x86_64/callchain.c, perf/cgroup.c
 *   perf/timer.c            limits of clocks
 *   perf/breakpoints.c      breakpoints and watched data
 *   perf/faults.c           page faults, perf/touched.c: the pages of an access
 *   perf/uprobe*.c          probes at places of files, see perf/uprobes.h
 *   perf/tracepoints.c      tracepoints at system calls
 *   perf/tracepoints_task.c tracepoints of what happens to tasks
 *   perf/sideband_tasks.c, perf/sideband_maps.c    what event/sideband.h writes records of
 */
#ifndef PERF_PERF_H
#define PERF_PERF_H

#include "dbt/dbt.h"
#include "event/files.h"
#include "event/sample.h"
#include "event/sideband.h"
#include "event/space.h"
#include "os/session/genuine.h"
#include "os/session/thread.h"

struct ksiginfo;
struct load_result;

/* ---- tasks ---- */

static inline bool perf_sideband_wanted(const struct thread *t, u32 what)
{
	return unlikely(sideband_wanted(t->cpu->slot, what));
}

/* In the new image after exec, before the guest runs: forgets the descriptors that exec closed. 0 or -errno. */
int perf_after_exec(struct thread *t);
/* What an exec has changed of a task: its id and its name before. */
struct perf_executed {
	s32 tid;
	char comm[16];
};
/* A new program: its name, then what the loader has mapped, in the loader's order. */
void perf_executed(struct thread *t, const struct load_result *loaded, const struct perf_executed *before);

/*
 * Around a clone without CLONE_VM, before and after all other locks: the child inherits nothing half-changed of what is
 * private to the process.
 */
void perf_before_fork(void);
void perf_after_fork(void);
/*
 * In the child of a fork, which has the parent's memory as a copy: timers, breakpoints and mappings of events are not
 * its own.
 */
void perf_fork_child(struct thread *t);
/*
 * A task slot of that generation is this kernel thread: said by the child before it runs guest code and by the parent
 * when it has its id; the first one counts.
 */
void perf_forked(struct thread *t, u32 slot, u32 generation);
/* A new thread runs for the first time. */
void perf_first_switch(struct thread *t);

/* The thread ends: what it had here goes. */
void perf_thread_ends(struct thread *t);
/* A vfork child, which is another thread's to clear away, has left this memory: its buffers. */
void perf_free_buffers(struct thread *child);

/* Tracepoints of what happens to tasks (pmu/tracepoint_task.h): events of that task want them. */
static inline bool perf_traces_wanted(u32 slot)
{
	return unlikely(__atomic_load_n(&event_ctx(slot)->units, __ATOMIC_RELAXED) & EVENT_UNIT_TASKS);
}

/* By either of them: the child of a clone is there. */
void perf_trace_fork(struct thread *t, u32 parent, u32 child);
/* The calling thread has named the one with that id. */
void perf_trace_rename(struct thread *t, s32 tid, const char *old, const char *name);
void perf_trace_exec(struct thread *t, const char *filename, s32 old_tid);

/* By all who end a task, before event/ is called and without the session's lock: the first one records it. */
void perf_trace_exit(u32 slot);
static inline void perf_task_ends(u32 slot)
{
	if (perf_traces_wanted(slot))
		perf_trace_exit(slot);
}

/* A signal is delivered now, to that handler, or (0) it ends the process. */
void perf_trace_signal(struct thread *t, const struct ksiginfo *info, u64 handler, u64 flags);
static inline void perf_delivered(struct thread *t, const struct ksiginfo *info, u64 handler, u64 flags)
{
	if (perf_traces_wanted(t->cpu->slot))
		perf_trace_signal(t, info, handler, flags);
}

/*
 * A page fault of the thread's (perf/faults.h), of which the sample is known but for the tracepoint's record.
 * error_code: the processor's.
 */
void perf_trace_page_fault(struct thread *t, struct snapshot *snap, u64 error_code);

/* The calling thread was given the name in its slot; what it was called before. */
static inline void perf_renamed(struct thread *t, const char *old)
{
	if (perf_traces_wanted(t->cpu->slot))
		perf_trace_rename(t, t->task->tid, old, t->task->comm);
	if (perf_sideband_wanted(t, SB_COMM))
		sideband_comm(t->cpu->slot, t->cpu->slot, t->task->comm, false);
}

/* After unshare(2) and setns(2). */
void perf_namespaces_changed(struct thread *t);

/* After mkdir(2): a cgroup, if that is what the directory is. */
void perf_mkdir_slowly(struct thread *t, s32 dirfd, gva path);
static inline void perf_mkdir(struct thread *t, s32 dirfd, gva path)
{
	if (perf_sideband_wanted(t, SB_CGROUP))
		perf_mkdir_slowly(t, dirfd, path);
}

/*
 * Context switches. User space sees none; the host counts them for each thread. Those found in the counts since the
 * thread was looked at last become pairs of records: voluntary ones, which happen in system calls, from `since` (when
 * the call began) to now; involuntary ones, found on entering the runtime, with PREEMPT, at this moment. since:
 * host_clock_perf(), 0: now.
 */
void perf_switches_slowly(struct thread *t, u64 since);
static inline void perf_switches(struct thread *t, u64 since)
{
	if (perf_sideband_wanted(t, SB_SWITCH))
		perf_switches_slowly(t, since);
	else
		t->switches.known = 0;
}

/*
 * Where the thread is among cgroups, if there are events of some: on entering the runtime, now and then; by `force` in
 * any case. After a write(2) to a file of a cgroup: where all threads of the session are.
 */
void perf_cgroup_look_slowly(struct thread *t, bool force);
static inline void perf_cgroup_look(struct thread *t, bool force)
{
	if (unlikely(__atomic_load_n(&event_space->cgroups, __ATOMIC_RELAXED)))
		perf_cgroup_look_slowly(t, force);
}
void perf_cgroup_written_slowly(struct thread *t, s32 fd);
static inline void perf_cgroup_written(struct thread *t, s32 fd)
{
	if (unlikely(__atomic_load_n(&event_space->cgroups, __ATOMIC_RELAXED)))
		perf_cgroup_written_slowly(t, fd);
}

/* ---- system calls; the handlers of those for events are named in os/x86_64/syscalls.def ---- */

/* Before an event is opened: which file its probe is in, see pmu/uprobe.h. */
void perf_find_probed(struct thread *t, struct perf_attr *attr);
/* write(2) to uprobe_events. */
long perf_define_probes(struct thread *t, const char *text, u64 n);

/* The descriptor is an event of this process. */
static inline bool perf_is_event(const struct thread *t, u64 fd)
{
	return event_files_lookup(t->cpu->slot, (u32)fd) && genuine_is((u32)fd);
}

/* By tracepoints; or by page faults that are recorded one by one (perf/faults.h): those in a call are the kernel's. */
static inline bool perf_calls_wanted(const struct thread *t)
{
	return unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->units, __ATOMIC_RELAXED) &
			(EVENT_UNITS_CALLS | CPU_WANT_TOUCH));
}

/*
 * Tracepoints. In front of the call t->nr with t->args. One that is put off because a signal comes first is recorded
 * once, when it is made at last or before. One that the kernel had begun and that is begun again has an exit with
 * -ERESTARTSYS and another entry, as in Linux.
 */
void perf_call_enter_slowly(struct thread *t);
static inline void perf_call_enter(struct thread *t)
{
	if (perf_calls_wanted(t))
		perf_call_enter_slowly(t);
}

/* The call is done, or (SYSCALL_AGAIN) put off. */
void perf_call_exit_slowly(struct thread *t, long ret);
static inline void perf_call_exit(struct thread *t, long ret)
{
	if (perf_calls_wanted(t))
		perf_call_exit_slowly(t, ret);
}

/* A new thread or program: the call that made it, which was begun elsewhere, is done. */
void perf_call_made_slowly(struct thread *t, u64 nr);
static inline void perf_call_made(struct thread *t, u64 nr)
{
	if (perf_calls_wanted(t))
		perf_call_made_slowly(t, nr);
}

/* While t->clock_state is CLOCK_RUNNING: before a system call is made for the guest. */
void perf_timer_call_begins(struct thread *t, long nr, const u64 *a);
/*
 * After it: ret says that it was a transfer of which the timer may have cut off the rest, so that is to be done as
 * well.
 */
bool perf_timer_call_cut(const struct thread *t, long nr, const u64 *a, long ret);

/* ---- translated code has stopped; stops as of dbt_run(), DBT_STEPPED: nothing is left to be done ---- */

/* New limits, if event_ctx.rearm is set. */
void perf_rearm(struct thread *t);
/* The thread's breakpoints and the process's probes again, when event_ctx.hits_changed is set. */
void perf_load_breakpoints(struct thread *t);
/*
 * The instruction at cpu->rip has had its breakpoint hit: the processor's resume flag. It is to be executed by
 * perf_step().
 */
bool perf_must_step(const struct thread *t);

/*
 * Before the thread runs code that keeps the exact call stack, or looks at touched pages: the memory for it. Without
 * memory there are no such stacks.
 */
void perf_prepare_slowly(struct thread *t);
void perf_touching(struct thread *t);
static inline void perf_prepare(struct thread *t, u32 want)
{
	if (unlikely((want & CPU_WANT_TOUCH) && !t->cpu->touching))
		perf_touching(t);
	if (unlikely((want & CPU_WANT_CALLS) && !t->cpu->calls))
		perf_prepare_slowly(t);
}

/* After DBT_FAULT: a page fault at addr, and then a signal. */
void perf_fetch_fault_slowly(struct thread *t, gva addr);
static inline void perf_fetch_fault(struct thread *t, gva addr)
{
	if (cpu_bank(t->cpu)->want & CPU_WANT_TOUCH)
		perf_fetch_fault_slowly(t, addr);
}

/* After DBT_LIMIT: over the limit by a step, or more if the next limits are that near, with its sample. */
enum dbt_stop perf_limit(struct thread *t, struct dbt_fault *fault);
/* After DBT_NEAR: up to the limit, or some way. */
enum dbt_stop perf_approach(struct thread *t, struct dbt_fault *fault);
/* One instruction, by dbt_step(), with the samples of the limits that it reaches and the hits of breakpoints. */
enum dbt_stop perf_step(struct thread *t, struct dbt_fault *fault);

/* The guest's registers, which are in *cpu. */
void perf_regs(const struct cpu *cpu, struct snapshot_regs *out);
/*
 * The runtime has executed the instruction at cpu->rip: steps over it, counts it, takes the sample of a limit that it
 * reached. before: its registers; len: its length, for when its code is gone by now.
 */
void perf_emulated(struct thread *t, const struct snapshot_regs *before, u8 len);
/* The same for an instruction of which the length is known, and the weight if cycles are counted. */
void perf_emulated_insn(struct thread *t, const struct snapshot_regs *before, const struct insn *in);
/* As perf_emulated(), but cpu->rip is right already: counts all that `in` counts. */
void perf_counted(struct thread *t, const struct snapshot_regs *before, const struct insn *in);
/*
 * Executes and counts the rdpmc at cpu->rip: 0, or -EFAULT: the guest may not (sysctl rdpmc: 0 nobody, 1 who has mapped
 * an event that it can read, 2 everyone), or there is no such counter. Counters are those of event/userpage.h.
 */
int perf_rdpmc(struct thread *t);

/* t->clock_fired or t->clock_state == CLOCK_PAUSED: before the guest goes on. */
void perf_clock(struct thread *t);

/* Looks at what the host only counts: page faults, switches. kernel: on the way out of a system call. */
void perf_poll_sources_slowly(struct thread *t, bool kernel);
static inline void perf_poll_sources(struct thread *t, bool kernel)
{
	if (unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->polling, __ATOMIC_RELAXED)))
		perf_poll_sources_slowly(t, kernel);
}

/* ---- memory ---- */

/*
 * Pages of [start, end) may have gone, or fault when they are written to next: what threads know of them is forgotten
 * (perf/faults.h). vma_lock() may be held.
 */
extern u32 perf_pages_watched; /* by any thread of this process */
void perf_pages_changed_slowly(gva start, gva end);
static inline void perf_pages_changed(gva start, gva end)
{
	if (unlikely(__atomic_load_n(&perf_pages_watched, __ATOMIC_RELAXED)))
		perf_pages_changed_slowly(start, end);
}

/* The same address: there may be probes of its file. uprobes_wanted: of any. */
extern u32 uprobes_wanted;
void perf_file_mapped(struct thread *t, gva at);

/* The mapping around `at` was elsewhere, or shorter. Linux has no record of that. */
static inline void perf_moved(struct thread *t, gva at)
{
	if (unlikely(uprobes_wanted))
		perf_file_mapped(t, at);
}

/* The whole mapping around `at`, which is new or has grown. fd: its file where one is at hand, else -1. */
void perf_mapped_slowly(struct thread *t, gva at, int fd);
static inline void perf_mapped(struct thread *t, gva at, int fd)
{
	perf_moved(t, at);
	if (perf_sideband_wanted(t, SB_MMAP | SB_MMAP_DATA))
		perf_mapped_slowly(t, at, fd);
}

/*
 * Around what unmaps len bytes at `start`, which may be asked for in vain: the executable mappings there, described
 * while they are; and that they are gone, unless ret is an error. Returns ret.
 */
struct mapping_record;
struct mapping_record *perf_unmapping_slowly(gva start, gva end);
static inline struct mapping_record *perf_unmapping(const struct thread *t, gva at, u64 len)
{
	return perf_sideband_wanted(t, SB_MUNMAP) ? perf_unmapping_slowly(at, ALIGN_UP(at + len, PAGE_SIZE)) : NULL;
}
void perf_unmapped_slowly(struct thread *t, struct mapping_record *gone, long ret);
static inline long perf_unmapped(struct thread *t, struct mapping_record *gone, long ret)
{
	if (unlikely(gone))
		perf_unmapped_slowly(t, gone, ret);
	return ret;
}

/*
 * mprotect makes a record for each part that changes, as large as it is once joined with what comes before. Before the
 * change, with vma_lock(): the parts of [start, end) that do not have that protection yet; after it, without: the
 * records.
 */
#define PERF_PROTECTION_PARTS 16
struct perf_protection {
	u32 n;
	gva start[PERF_PROTECTION_PARTS];
};
void perf_protect_begin_locked(struct thread *t, gva start, gva end, u32 prot, struct perf_protection *out);
void perf_protected(struct thread *t, const struct perf_protection *pieces);

/*
 * Ring buffers in the guest's address space: mappings of the session's memory of kind VMA_EVENT, see os/mm/vma.h. They
 * are not inherited by fork, cannot grow, be cut, executed, emptied or duplicated, as natively. event/map.c knows them
 * by address. event_lock() ranks below vma_lock(): what is to be unmapped goes to event/ first.
 */

/* mmap(2) of a descriptor that is an event. */
long perf_mmap(struct thread *t, const u64 *a);

/*
 * The file that such a mapping is of, natively: without a name of its own, and with the inode that all anonymous ones
 * share.
 */
#define PERF_MMAP_NAME "anon_inode:[perf_event]"
struct perf_mmap_inode {
	u32 maj, min;
	u64 ino;
};
/* Takes a descriptor for a moment: for apart_run(). */
void perf_mmap_inode(struct perf_mmap_inode *out);

/*
 * Before the guest's memory at [start, end) is unmapped or mapped over, without vma_lock(). 0; 1: perf_unmap_end() is
 * to be called afterwards; -EINVAL: it would cut a mapping.
 */
int perf_unmap_begin(gva start, gva end);
/* Without vma_lock(). done: the host has done it. */
void perf_unmap_end(gva start, gva end, bool done);

/* Whether the range has such mappings, and whether some of them only in part. */
enum perf_range { PERF_RANGE_NONE, PERF_RANGE_WHOLE, PERF_RANGE_CUT };
enum perf_range perf_range(gva start, gva end);
/* The same with vma_lock(). */
enum perf_range perf_range_locked(gva start, gva end);

/*
 * With vma_lock(): the first of them in [start, end) that mprotect(2) cannot give that protection, or not as a whole;
 * `end`: none.
 */
gva perf_denied_locked(gva start, gva end, u64 prot);

/* madvise(2) of a range with such mappings: 0, or why not. */
int perf_advice(gva start, gva end, int advice);

/* ---- waiting and signals ---- */

/*
 * For how many ns a wait may block if nobody can wake it; and if it has to notice the death of members, at first and
 * each time after.
 */
#define PERF_DEAF_SLICE 10000000l
#define PERF_FAR_SLICE 50000000l
static inline s64 perf_next_slice(s64 slice)
{
	return MIN(2 * slice, 16 * PERF_FAR_SLICE);
}

/* Before a wait on it: gives it its name. False: it cannot have one, and nobody will be able to wake who waits. */
bool perf_listen(struct thread *t, s32 fd);
/* Takes all datagrams that have arrived. _for_others: but for one, if others have yet to hear of it. */
void perf_drain(s32 fd);
void perf_drain_for_others(struct thread *t, s32 fd);

/* fcntl(F_SETFL) or ioctl(FIOASYNC) on an event has been done by the host. */
void perf_set_async(struct thread *t, s32 fd, bool on);
/* So has fcntl(F_SETOWN) or F_SETOWN_EX, with that F_OWNER_* and id; and F_SETSIG. */
void perf_set_owner(struct thread *t, s32 fd, u32 type, s32 owner);
void perf_set_signal(struct thread *t, s32 fd, u32 signo);
/*
 * A signal is about to be delivered: if it is of an event, makes room for the next datagrams, and corrects its siginfo.
 * False: it is not meant for the guest.
 */
bool perf_signal_taken(struct thread *t, struct taken_signal *sig);
/* A signal with this siginfo is of a descriptor, which si_fd names. */
bool perf_signal_of_descriptor(const struct ksiginfo *info);

#endif
