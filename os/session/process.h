/*
 * What guest threads share, in this process's private memory.
 *
 * struct process: threads with the same memory. There is one per address space (a vfork child uses its parent's), so
 * modules may as well keep such state in static variables. struct group: the threads of one thread group.
 */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include "abi/types.h"
#include "os/session/thread.h"
#include "rt/lock.h"

struct process {
	/* Set once by main(). */
	s32 runtime_fd;	   /* the runtime's own image; the others of SESSION_FDS follow */
	u64 vdso;	   /* AT_SYSINFO_EHDR, 0: none */
	struct session_config config; /* handed over */

	struct lock threads_lock; /* RANK_THREADS; guards the rest */
	struct thread *threads;	  /* running */
	struct thread *exited;	  /* areas to use again once the kernel thread is gone, oldest first */
	struct thread **exited_tail;
	u32 areas;		  /* ever made */
	void *free_pages;	  /* of process_page_alloc() */
	u32 pages;
};

struct group {
	u32 refs;	 /* threads, atomic */
	s32 pid;
	u32 quiesce;	 /* set: threads leave translated code and wait here (futex) */
	u32 exiting;	 /* exit_group has begun */
	u32 nr_threads;	 /* atomic */
};

extern struct process the_process;

/* --pin: see os/pin/pin.h. */
static inline bool held_still(enum pin_item item)
{
	return the_process.config.pin >> item & 1;
}

/* Asks the kernel which CPUs are online. */
void host_find_cpus(struct session_cpus *cpus);
u32 host_current_cpu(void); /* without a system call, as a rule */

/* The calling thread is the only one of its process, and nobody else has its memory or its table of descriptors. */
static inline bool process_is_alone(const struct thread *t)
{
	return t->group->nr_threads == 1 && t->proc->threads == t && !t->next;
}

/* Pages for struct sighand and struct group, zeroed; NULL if memory is short. */
void *process_page_alloc(struct process *p);
void process_page_free(struct process *p, void *page);

/* prctl(2) but for the options that concern events. */
long process_prctl(struct thread *t, const u64 *a);

#endif
