/*
 * The session as its members see it: the task slots.
 *
 * A slot is FREE, NEW (its creator fills it in), ALIVE, or DEAD; it becomes FREE again when event/ has let go of it.
 * Members may die at any instruction: whoever needs a slot, or waits for others, finds slots of dead tasks with
 * session_reap() and finishes for them what they could not.
 */
#ifndef OS_SESSION_H
#define OS_SESSION_H

#include "os/session/arena.h"
#include "os/session/thread.h"

/* That slot, which is the calling thread's after exec, made ALIVE; NULL: it is none. Takes no lock. */
struct task *session_find_self(u32 slot);
/* After that: other threads of a group that has just executed a new program are gone. */
void session_exec_done(const struct task *self);

/* The slot with that number, NULL if there is none with it; any state but FREE. */
struct task *session_task(u32 slot);
/* The live slot of a kernel thread id of that pid namespace (os/session/pidns.h), 0 if it is no task of the session. */
u32 session_find_tid(u32 pidns, s32 tid);
/* A task of the launcher's namespace that has not begun, but whose ids its creator has told. 0: there is none. */
u32 session_find_made(s32 tid);
/* A task that is being made is this thread of the caller's pid namespace, or may turn out to be. */
bool session_expects(s32 tid);

/*
 * A NEW slot with a copy of the parent's fields, its bank zero; NULL if all are taken. sibling: the parent's parent
 * will be its parent (CLONE_THREAD, CLONE_PARENT).
 */
struct task *session_task_new(struct task *parent, bool sibling);
/* Undoes session_task_new(). */
void session_task_undo(struct task *task);
/*
 * By the creator, once the kernel has made it: the ids, in the launcher's pid namespace, of a task that may not have
 * run yet, so that its end is noticed even if it never does. Nothing happens if the slot is another task's already.
 */
void session_task_made(struct task *task, u32 generation, s32 pid, s32 tid);
/* The new task's own thread, whose ids t has: fills in the task's. Before it takes any lock of the session's. */
void session_task_ids(struct thread *t, struct task *task);
/* After that it becomes ALIVE. */
void session_task_begin(struct task *task);
/* Notes in the slot what the host knows of the thread, which is running or a zombie. Events are open. */
void session_task_note(struct task *task);
/* The thread's own end: final clocks and counts, state DEAD. Its events are told before. */
void session_task_end(struct task *task);
/*
 * The same for all tasks of the caller's thread group, which is about to end. The slots of its other threads stay DEAD,
 * since those may still run, until session_reap() finds them gone.
 */
void session_group_end(struct task *task);
/* Gives a DEAD slot back; event/ has let go of it. */
void session_task_free(struct task *task);

/* Before execveat: which slot the new image is to use. After a failure: forgets it. */
void session_exec_begin(struct task *task);
void session_exec_failed(struct task *task);

/* Finds tasks that died without a word and ends them. Called lazily, e.g. when slots are short. */
void session_reap(void);

/* If the thread of that slot has died without a word, ends its task. */
void session_task_gone(u32 slot);

/*
 * A process has ended, its parent has not waited for it yet: its tasks end with the clocks and counts that the zombie
 * still has.
 */
void session_process_gone(s32 pid);

/* True if the kernel thread behind an ALIVE slot still exists. */
bool session_task_exists(const struct task *task);

/*
 * The thread of that slot does not run any more and never will: it is gone or a zombie, or its ids are another
 * thread's.
 */
bool session_is_dead(u32 slot);

#endif
