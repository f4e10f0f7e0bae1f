/*
 * Threads of one memory: their areas, the lists that hold them, and bringing the others to a halt.
 *
 * An area is never unmapped: the thread that ends still runs on it until the kernel has let go of it. It is used again
 * once its kernel thread is gone, oldest first.
 */
#include <asm/errno.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/uio.h>
#include "dbt/dbt.h"
#include "event/space.h"
#include "event/task.h"
#include "os/session/clock.h"
#include "os/session/fence.h"
#include "os/session/pidns.h"
#include "os/session/process.h"
#include "perf/perf.h"
#include "rt/log.h"
#include "rt/map.h"
#include "rt/string.h"
#include "rt/sys.h"

/* The upper half of the region is for process_page_alloc(). */
#define PAGES_START	(LAYOUT_THREADS + (LAYOUT_DBT - LAYOUT_THREADS) / 2)
#define PAGES_CHUNK	16u /* pages mapped at a time */
#define EXITED_LOOKS	4   /* exited areas looked at before a new one is made */
#define QUIESCE_NS	50000000ul
#define QUIESCE_STEP_NS 200000ul

struct process the_process WRITTEN_BY_FORK;

static bool map_at(u64 at, u64 len)
{
	return !sys_is_error(
		rt_map_at(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void *process_page_alloc(struct process *p)
{
	void *page = NULL;

	lock_acquire(&p->threads_lock);
	if (p->free_pages) {
		page = p->free_pages;
		p->free_pages = *(void **)page;
		memset(page, 0, PAGE_SIZE);
	} else if (p->pages % PAGES_CHUNK || map_at(PAGES_START + p->pages * PAGE_SIZE, PAGES_CHUNK * PAGE_SIZE)) {
		page = (void *)(PAGES_START + p->pages++ * PAGE_SIZE);
	}
	lock_release(&p->threads_lock);
	return page;
}

void process_page_free(struct process *p, void *page)
{
	lock_acquire(&p->threads_lock);
	*(void **)page = p->free_pages;
	p->free_pages = page;
	lock_release(&p->threads_lock);
}

static struct thread *new_area(struct process *p)
{
	u64 area;

	lock_acquire(&p->threads_lock);
	area = LAYOUT_THREADS + p->areas++ * THREAD_AREA;
	lock_release(&p->threads_lock);
	if (area + THREAD_AREA > PAGES_START || !map_at(area + THREAD_RT_STACK, THREAD_RT_TOP - THREAD_RT_STACK) ||
	    !map_at(area + THREAD_ALT_STACK, THREAD_END - THREAD_ALT_STACK))
		return NULL;
	return (struct thread *)(area + THREAD_STRUCT);
}

/*
 * An area whose thread has left the kernel, or that of a vfork child that its parent gave back (tid 0). Not of one who
 * died with a lock: it is named in that.
 */
static struct thread *reuse_area(struct process *p)
{
	struct thread **link, *t;
	int looks = 0;

	lock_acquire(&p->threads_lock);
	for (link = &p->exited; (t = *link) && looks < EXITED_LOOKS; link = &t->next, looks++) {
		if ((t->tid && pidns_exists(t->host_pid, t->host_tid)) || t->locks.holds)
			continue;
		*link = t->next;
		if (p->exited_tail == &t->next)
			p->exited_tail = link;
		break;
	}
	if (looks == EXITED_LOOKS)
		t = NULL;
	lock_release(&p->threads_lock);
	return t;
}

int thread_map_bank(struct thread *t, const struct task *task)
{
	long ret = sys6(__NR_mmap, thread_area(t) + THREAD_BANK, CPU_BANK_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, the_process.runtime_fd + ARENA_FD,
			(u64)arena_bank(task_slot(task)) - LAYOUT_ARENA);

	return sys_is_error(ret) ? (int)ret : 0;
}

struct section *section_self(void)
{
	return &thread_own()->section;
}

struct stats *stats_self(void)
{
	const struct thread *t = thread_current();

	return t ? t->stats : NULL;
}

void thread_use_slot(struct thread *t, u32 slot)
{
	t->stats = &arena()->task_stats[slot];
	t->section = (struct section){
		.journal = section_journal(slot),
		.number = slot,
		.bias_number = signal_barrier_reaches() ? slot : 0,
		/*
		 * A number that was used is not used again, by the task's earlier images neither: see
		 * os/session/facts.h and struct event_polled.
		 */
		.serial = t->section.serial ? t->section.serial : host_clock_mono(),
		.stack_top = thread_area(t) + THREAD_RT_TOP,
		.kept_stack = (char *)thread_area(t) + THREAD_KEPT,
	};
}

/* As the holder of locks. */
static u32 name_of(const struct thread *t)
{
	return (u32)((thread_area(t) - LAYOUT_THREADS) / THREAD_AREA) + LOCK_NOBODY + 1;
}

struct lock_holder *thread_holds_locks(void)
{
	struct thread *t = thread_current();

	return t ? &t->locks : NULL;
}

bool thread_name_is_gone(u32 name)
{
	u64 area = LAYOUT_THREADS + (name - LOCK_NOBODY - 1ul) * THREAD_AREA;

	return thread_is_gone((struct thread *)(area + THREAD_STRUCT));
}

/* No process with that number has memory: there is none, or it is a zombie. */
static bool has_no_memory(s32 pid)
{
	u8 byte;
	struct iovec to = {&byte, 1}, from = {&byte, 1};

	return sys6(__NR_process_vm_readv, pid, (long)&to, 1, (long)&from, 1, 0) == -ESRCH;
}

bool thread_is_gone(const struct thread *t)
{
	if (t->state == THREAD_EXITED && !t->tid)
		return true;
	if (t->group == thread_own()->group || !t->host_pid)
		return false;
	return !pidns_exists(t->host_pid, t->host_tid) || (!pidns_own() && has_no_memory(t->host_pid));
}

struct thread *thread_alloc(struct process *proc)
{
	struct thread *t = reuse_area(proc);

	if (!t)
		t = new_area(proc);
	if (!t)
		return NULL;
	_Static_assert(THREAD_STRUCT + sizeof(*t) + sizeof(struct cpu) <= THREAD_BANK,
		       "struct thread, struct cpu, bank");
	memset(t, 0, sizeof(*t));
	t->proc = proc;
	t->locks.name = name_of(t);
	return t;
}

void thread_list_add(struct thread *t)
{
	struct process *p = t->proc;

	lock_acquire(&p->threads_lock);
	t->state = THREAD_RUNNING;
	t->next = p->threads;
	p->threads = t;
	lock_release(&p->threads_lock);
}

void thread_list_retire(struct thread *t, s32 tid)
{
	struct process *p = t->proc;
	struct thread **link;

	lock_acquire(&p->threads_lock);
	for (link = &p->threads; *link && *link != t; link = &(*link)->next)
		;
	if (*link)
		*link = t->next;
	t->state = THREAD_EXITED;
	t->tid = tid;
	t->next = NULL;
	if (!p->exited)
		p->exited_tail = &p->exited;
	*p->exited_tail = t;
	p->exited_tail = &t->next;
	lock_release(&p->threads_lock);
}

/* Who died over the lists has left a thread in one of them or in none. */
void thread_list_mend(void)
{
	struct process *p = &the_process;

	for (p->exited_tail = &p->exited; *p->exited_tail; p->exited_tail = &(*p->exited_tail)->next)
		;
}

void thread_list_keep_only(struct thread *t)
{
	struct process *p = t->proc;
	struct thread *other, *next;

	lock_init(&p->threads_lock, RANK_THREADS);
	for (other = p->threads; other; other = next) {
		next = other->next;
		if (other != t)
			thread_list_retire(other, 0);
	}
	for (other = p->exited; other; other = other->next)
		other->tid = 0;
}

bool dbt_host_any_cpu(bool (*test)(struct cpu *cpu, void *arg), void *arg)
{
	struct thread *t;
	bool found = false;

	lock_acquire(&the_process.threads_lock);
	for (t = the_process.threads; t && !found; t = t->next)
		found = t->cpu && !t->executing && test(t->cpu, arg) && !thread_is_gone(t);
	lock_release(&the_process.threads_lock);
	return found;
}

bool dbt_host_kernel_writes(gva page)
{
	struct thread *t;
	bool found = false;

	lock_acquire(&the_process.threads_lock);
	for (t = the_process.threads; t && !found; t = t->next)
		found = ALIGN_DOWN(t->rseq.area, PAGE_SIZE) == page || ALIGN_DOWN(t->clear_tid, PAGE_SIZE) == page;
	lock_release(&the_process.threads_lock);
	return found;
}

struct refusal *refuse_slot(void)
{
	struct thread *t = thread_current();

	return t ? &t->refusal : NULL;
}

/* Whether a sibling executes guest code, or such that counts. Barrier A of host_kick() on the quiesce side. */
static bool any_in_cache(struct thread *self, bool counting, bool kick)
{
	struct thread *t;
	bool found = false;

	lock_acquire(&self->proc->threads_lock);
	for (t = self->proc->threads; t; t = t->next) {
		if (t == self || t->group != self->group || !__atomic_load_n(&t->task->in_cache, __ATOMIC_ACQUIRE))
			continue;
		if (counting && !t->cpu->variant && !cpu_bank(t->cpu)->want)
			continue;
		found = true;
		if (kick)
			host_kick(t->cpu->slot);
	}
	lock_release(&self->proc->threads_lock);
	return found;
}

static bool quiesce(struct thread *self, bool counting)
{
	u64 step[2] = {0, QUIESCE_STEP_NS};
	u64 end;

	__atomic_store_n(&self->group->quiesce, 1, __ATOMIC_SEQ_CST);
	if (!any_in_cache(self, counting, true))
		return true;
	end = host_clock_mono() + QUIESCE_NS;
	while (any_in_cache(self, counting, false)) {
		if (host_clock_mono() >= end)
			return false;
		sys2(__NR_nanosleep, step, 0);
	}
	return true;
}

void group_quiesce(struct thread *self)
{
	if (__atomic_load_n(&self->group->nr_threads, __ATOMIC_RELAXED) > 1 && event_space->opened)
		quiesce(self, true);
}

bool thread_any_of_other_group(const struct thread *self)
{
	struct thread *t;

	lock_acquire(&self->proc->threads_lock);
	for (t = self->proc->threads; t && t->group == self->group; t = t->next)
		;
	lock_release(&self->proc->threads_lock);
	return t;
}

static bool is_left_behind(const struct thread *t, const struct thread *self)
{
	return t->group != self->group && !(t->clone_flags & CLONE_VFORK) && thread_is_gone(t);
}

struct thread *thread_list_take_gone(const struct thread *self)
{
	struct thread **link, *t;

	lock_acquire(&self->proc->threads_lock);
	for (link = &self->proc->threads; (t = *link) && !is_left_behind(t, self); link = &t->next)
		;
	if (t)
		*link = t->next;
	lock_release(&self->proc->threads_lock);
	return t;
}

bool group_stop(struct thread *self)
{
	if (thread_any_of_other_group(self))
		return false;
	return __atomic_load_n(&self->group->nr_threads, __ATOMIC_RELAXED) == 1 || quiesce(self, false);
}

void group_resume(struct thread *self)
{
	if (!self->group->quiesce)
		return;
	__atomic_store_n(&self->group->quiesce, 0, __ATOMIC_SEQ_CST);
	sys3(__NR_futex, &self->group->quiesce, FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

void group_wait(struct thread *t)
{
	while (__atomic_load_n(&t->group->quiesce, __ATOMIC_SEQ_CST))
		sys4(__NR_futex, &t->group->quiesce, FUTEX_WAIT_PRIVATE, 1, 0);
}
