/*
 * The calls by which a task leaves namespaces, or its table of descriptors, for others; clone.c has those that a child
 * begins in.
 */
#include <asm/errno.h>
#include <linux/sched.h>
#include "event/files.h"
#include "os/session/pidns.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/refuse.h"

long sys_unshare(struct thread *t, const u64 *a)
{
	long ret;

	if ((a[0] & CLONE_NEWPID) && !pidns_usable())
		return refuse(EPERM, PIDNS_UNUSABLE);
	ret = syscall_pass(t, a);
	if (!ret && (a[0] & CLONE_NEWPID))
		t->task->children_apart = 1;
	if (!ret && (a[0] & CLONE_FILES) && event_files_unshare(t->cpu->slot))
		return refuse(ENOMEM, "more processes than the session has descriptor tables");
	if (!ret)
		perf_namespaces_changed(t);
	return ret;
}

long sys_setns(struct thread *t, const u64 *a)
{
	long ret;

	if ((a[1] & CLONE_NEWPID) && !pidns_usable())
		return refuse(EPERM, PIDNS_UNUSABLE);
	ret = syscall_pass(t, a);
	if (ret)
		return ret;
	if (!a[1] || (a[1] & CLONE_NEWPID))
		t->task->children_apart = 1;
	perf_namespaces_changed(t);
	return 0;
}
