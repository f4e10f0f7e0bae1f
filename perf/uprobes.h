/*
 * Probes in the guest's code: where in this process's memory those places of files are that its tasks' events are
 * about, and what is done when one is reached.
 *
 *   perf/uprobe_file.c     which file a path is, for perf_event_open and uprobe_events
 *   perf/uprobe_sites.c    where the places are mapped, and their counters (ref_ctr_offset)
 *   perf/uprobe_returns.c  the calls whose return is probed
 *   perf/uprobe_hits.c     records
 *   perf/uprobe_fetch.c    their arguments
 *
 * A site is one address with one probe. Translated code stops in front of it as in front of an execution breakpoint;
 * guest memory is not changed for that. Sites are the process's: a thread whose events are not about them passes. They
 * are found anew when a task's events change, and when a file is mapped, before the call that mapped it returns.
 *
 * A file is known by the numbers that /proc/PID/maps shows.
 */
#ifndef PERF_UPROBES_H
#define PERF_UPROBES_H

#include "event/probe.h"
#include "event/sample.h"
#include "os/session/thread.h"

/* ---- files ---- */

struct uprobe_file {
	u64 dev, ino, size;
};
/* A path of the guest's, which is changed: 0, -EINVAL (no regular file), or why it cannot be looked up. */
int uprobe_find_file(struct thread *t, char *path, struct uprobe_file *out);

/* ---- sites ---- */

/* Some task of this process has events of probes. */
extern u32 uprobes_wanted;

/*
 * The probe at an address, from *row on; false: there is none. For all of them, although another thread may replace the
 * list meanwhile:  for (row = 0; uprobe_site(addr, &row); row++)
 */
bool uprobe_site(gva addr, u32 *row);
/* After the events of the thread have changed. */
void uprobes_load(struct thread *t);
/* Around a clone without CLONE_VM, before and after all other locks: the child inherits no half-made list. */
void uprobes_before_fork(void);
void uprobes_after_fork(void);
/* In the child of a fork, after that. */
void uprobes_forked(struct thread *t);

/* ---- in front of an instruction ---- */

/* Returns of probed functions to this instruction. */
void uprobes_returned(struct thread *t, const struct snapshot_regs *regs);
/* Probes at this instruction: true if there are any. */
bool uprobes_hit(struct thread *t, const struct snapshot_regs *regs);

/* A function that is probed for its return begins. */
void uprobe_call(struct thread *t, const struct snapshot_regs *regs);
/* The address to which it returns stops translated code from now on; and none does. */
void uprobe_returns_to(gva addr);
void uprobe_returns_forget(void);
/* The same as for uprobes_before_fork() and what follows it. */
void uprobe_returns_before_fork(void);
void uprobe_returns_after_fork(void);
void uprobe_returns_forked(struct thread *t);
/* None of the thread's calls is probed any more. */
void uprobe_returns_drop(struct thread *t);
/* func: where the function begins that has returned; 0: nothing has returned, the place itself is reached. */
void uprobe_trace(struct thread *t, u32 row, gva func, const struct snapshot_regs *regs);
/*
 * The arguments of a named probe, behind the head of a record that has so much room, zeroed: where they end. site: its
 * address.
 */
u32 uprobe_fetch(const struct thread *t, u32 row, gva site, const struct snapshot_regs *regs, u8 *record, u32 head,
		 u32 room);

#endif
