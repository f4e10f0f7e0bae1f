/* See own_faults.h. */
#include "os/session/own_faults.h"

#include <elf.h>
#include <linux/mman.h>
#include "dbt/dbt.h"
#include "dbt/warm.h"
#include "event/space.h"
#include "os/session/host.h"
#include "os/session/process.h"
#include "rt/layout.h"
#include "rt/string.h"
#include "rt/sys.h"

/* task->own_work is odd while there is some; a change of it between two looks says that there was. */
static bool works(const struct task *task)
{
	return __atomic_load_n(&task->own_work, __ATOMIC_ACQUIRE) & 1;
}

/* A guest's own filter may take getrusage() for a reason to kill: then all faults count. */
static bool is_wanted(const struct thread *t)
{
	return __atomic_load_n(&event_space->faults, __ATOMIC_RELAXED) && !t->strict &&
	       !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED);
}

static void start(struct task *task)
{
	u64 now[2];

	if (!host_own_faults(now))
		return;
	for (u32 i = 0; i < 2; i++)
		__atomic_store_n(&task->guest_faults[i], now[i] - task->own_faults[i], __ATOMIC_RELAXED);
	__atomic_store_n(&task->own_work, task->own_work + 1, __ATOMIC_RELEASE);
}

static void finish(struct task *task)
{
	u64 now[2];

	for (u32 i = 0; host_own_faults(now) && i < 2; i++)
		__atomic_store_n(&task->own_faults[i], now[i] - task->guest_faults[i], __ATOMIC_RELAXED);
	__atomic_store_n(&task->own_work, task->own_work + 1, __ATOMIC_RELEASE);
}

void own_faults_begin(struct thread *t)
{
	if (t->own_work++ == 0 && unlikely(is_wanted(t)))
		start(t->task);
}

void own_faults_end(struct thread *t)
{
	if (--t->own_work == 0 && unlikely(works(t->task)))
		finish(t->task);
}

void own_faults_task_begins(struct thread *t)
{
	struct task *task = t->task;

	t->own_work = 1;
	memset(task->own_faults, 0, sizeof(task->own_faults));
	memset(task->guest_faults, 0, sizeof(task->guest_faults));
	__atomic_store_n(&task->own_work, is_wanted(t), __ATOMIC_RELEASE);
}

void own_faults_image_begins(struct thread *t)
{
	t->own_work = 1;
}

/* The runtime's own code and data. */
static void touch_runtime(void)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)LAYOUT_BASE;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(LAYOUT_BASE + eh->e_phoff);

	for (u32 i = 0; i < eh->e_phnum; i++) {
		u64 start = ALIGN_DOWN(ph[i].p_vaddr, PAGE_SIZE);
		u64 end = ALIGN_UP(ph[i].p_vaddr + ph[i].p_memsz, PAGE_SIZE);

		if (ph[i].p_type == PT_LOAD)
			sys3(__NR_madvise, (long)start, (long)(end - start),
			     ph[i].p_flags & PF_W ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	}
}

void own_faults_image_settle(struct thread *t)
{
	if (works(t->task) && dbt_touch_ahead())
		touch_runtime();
	own_faults_settle(t);
}

void own_faults_settle(struct thread *t)
{
	t->own_work = 0;
	if (likely(!works(t->task)))
		return;
	dbt_warm_populate();
	finish(t->task);
}

bool own_faults_of_guest(const struct thread *t, u64 *faults)
{
	const struct task *task = t->task;

	if (works(task)) {
		memcpy(faults, task->guest_faults, sizeof(task->guest_faults));
		return true;
	}
	if (!host_own_faults(faults))
		return false;
	for (u32 i = 0; i < 2; i++)
		faults[i] -= task->own_faults[i];
	return true;
}

int own_faults_read_stat(const struct task *task, struct proc_stat *out)
{
	u32 work = __atomic_load_n(&task->own_work, __ATOMIC_ACQUIRE);
	int ret = proc_read_stat(task->pid, task->tid, out);

	out->minor -= __atomic_load_n(&task->own_faults[0], __ATOMIC_RELAXED);
	out->major -= __atomic_load_n(&task->own_faults[1], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (work & 1 || work != __atomic_load_n(&task->own_work, __ATOMIC_RELAXED)) {
		out->minor = __atomic_load_n(&task->guest_faults[0], __ATOMIC_RELAXED);
		out->major = __atomic_load_n(&task->guest_faults[1], __ATOMIC_RELAXED);
	}
	return ret;
}

void dbt_host_own_work(bool begins)
{
	struct thread *t = thread_current();

	if (begins)
		own_faults_begin(t);
	else
		own_faults_end(t);
}
