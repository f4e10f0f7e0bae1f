/*
 * --pin=schedule: the threads of a process run one at a time, and who runs next follows from what they have executed.
 *
 * The turn is one thread's. Only it executes the guest's code and serves the guest's system calls. It gives the turn
 * to the next in the order of their making that can go on:
 *
 *   after TURN_INSNS instructions, exactly (cpu_set_turn()); sched_yield(2)
 *   when it waits for what other threads do: futexes, whose queues are here (turn_futex.c); joins
 *   when it sleeps, until virtual time has come that far
 *   when a call cannot be done yet: then it is tried again at each of the thread's turns (turn_calls.c). So whether it
 *   can be done depends on what was executed before, unless it waits for somebody outside of the process.
 *
 * If nobody can go on, who has the turn waits in the host for as long as the earliest time limit, and tries all calls
 * again now and then. Then virtual time has come to that limit.
 *
 * Calls that can be waited for in the kernel only (turn_calls.c names them) are made without the turn. Who comes back
 * from one wants it again: when that is, is the host's to say. The same for any other call that takes longer than
 * PATIENCE_NS: another thread takes the turn away. So nobody waits forever for a thread that does not run.
 *
 * A turn that ends in a critical section of a restartable sequence gives that up, as the kernel does with a section
 * that it preempts. The thread's next turn is then twice as long, so that each section is short enough in the end.
 * Nothing else but a signal gives a section up (os/sig/rseq.c): while the kernel preempts a thread, no other one of
 * the process executes.
 *
 * A process with one thread has no turns. A child of vfork(2) is none of the threads of its parent, which waits for it.
 *
 * The turn's words are this process's own. What they say is changed by who has the turn only, but for `state` and
 * `has`, which are atomic, and `holder`, which is 0 while all threads are outside: then the first one takes it. No lock
 * is held: a thread ends with its process, or by exit(2).
 */
#ifndef OS_PIN_TURN_H
#define OS_PIN_TURN_H

#include "os/pin/pin.h"

#define TURN_INSNS  100000u
#define TURN_LONGER 10u /* times twice as long at most */
#define TURN_NEVER  (~0ul)
#define PATIENCE_NS 1000000000ul

/* It has had the turn for long enough. */
bool turn_is_over(struct thread *t);

/*
 * Before the thread runs: it has the turn, and gives it away if it has had it for long enough. gave_up: that was in a
 * critical section.
 */
void turn_look(struct thread *t, bool gave_up);

/*
 * By who makes a thread, before the kernel does, and if it does not. clear_tid: where the kernel clears the thread's
 * number, 0: nowhere.
 */
void turn_clone(struct thread *t, struct thread *child, gva clear_tid);
void turn_clone_failed(struct thread *child);

/* In the child of a fork. */
void turn_forked(struct thread *t, gva clear_tid);

/* The thread ends, and executes nothing more of the guest's. */
void turn_ends(struct thread *t);

/* ---- for the calls ---- */

/* Gives the others a turn. */
void turn_yield(struct thread *t);

/* With t->turn as to what is waited for: returns with the turn when that has come, the time is up, or a signal has. */
void turn_wait(struct thread *t);

/* The call was waited for: others may go on by that. */
void turn_progress(void);

/* Whether virtual time has come that far. */
bool turn_is_due(u64 until);

/* What a call returns that a signal has interrupted. may_restart: as the signal's action says, else never. */
long turn_interrupted(struct thread *t, bool may_restart);

/* `host` with the turn, which another thread takes away if that takes too long; and without it. */
long turn_host(struct thread *t, const u64 *a, syscall_handler *host);
long turn_outside(struct thread *t, const u64 *a, syscall_handler *host);

/* A signal was sent to the thread with that number, 0: the process. Returns when it has arrived. */
void turn_signal_sent(s32 tid, s32 signo);

/* The threads, in the order of their making: by turn.next. */
struct thread *turn_first(void);

u64 turn_ticket(void);

/* To be tried again at one of the thread's next turns: returns at that, as turn_wait(). */
void turn_try_later(struct thread *t, u64 until);

/* Serves a system call: os/pin/turn_calls.c. pinned: as without the schedule; host: as if nothing was pinned. */
long turn_call(struct thread *t, const u64 *a, syscall_handler *pinned, syscall_handler *host);
/* A call of a process without turns, or of one with them. */
void turn_note_call(struct thread *t, const u64 *a);

/* The futex calls: os/pin/turn_futex.c. */
long turn_futex(struct thread *t, const u64 *a, syscall_handler *host);
/* The word that the thread waits for is not what it was. */
bool turn_futex_has_other_value(const struct thread *t);
/* A word was written by the kernel: who waits for it to have another value. */
void turn_futex_changed(void);

#endif
