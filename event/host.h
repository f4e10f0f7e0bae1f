/*
 * What the event subsystem needs from the system that it is built into: the "Arch requirements" of design.txt. os/
 * implements it for pcl, tests/unit/event implements it with a fake clock and fake tasks.
 *
 * Tasks are named by slot number (1..); 0 is no task. All functions may be called with event locks held and take
 * no event locks themselves.
 */
#ifndef EVENT_HOST_H
#define EVENT_HOST_H

#include "abi/types.h"

typedef u32 task_id;

/* Clocks, in nanoseconds. */
u64 host_clock_mono(void);		      /* CLOCK_MONOTONIC: wall time of the subsystem */
u64 host_task_clock(task_id task);	      /* CPU time that the task has used; 0 until it runs, final once it is dead */

/* Counts that the host keeps for a task since it began; 0 until it runs, final once it is dead. */
enum host_count { HOST_FAULTS_MIN, HOST_FAULTS_MAJ, HOST_SWITCHES, HOST_MIGRATIONS, HOST_COUNTS };
u64 host_task_count(task_id task, enum host_count what);

/* The task that called, and others by kernel thread id as its process sees them; 0: no such task in the session. */
task_id host_current(void);
task_id host_find_task(s32 pid);
bool host_task_alive(task_id task);
s32 host_task_tgid(task_id task);
s32 host_task_tid(task_id task);
u32 host_task_generation(task_id task);
bool host_may_observe(task_id task); /* the kernel's ptrace_may_access(PTRACE_MODE_READ_REALCREDS) for the caller */

/* Privilege of the caller inside the session: uid 0 or CAP_PERFMON. */
bool host_perfmon_capable(void);

/* CPUs as the guest sees them. */
u32 host_nr_cpus(void);
bool host_cpu_online(u32 cpu);
u32 host_task_cpu(task_id task);

/* The task's registers and counter bank: the PMU drivers' side of cpu/cpu.h. */
struct cpu *host_task_bank(task_id task);

/* The caller has such a descriptor open, of whatever kind. */
bool host_fd_open(s32 fd);

/* The task's instrumentation needs changed (cpu->want): make it leave translated code soon. Never blocks. */
void host_kick(task_id task);

#endif
