/*
 * --pin: what makes counts differ that is not the program's work, held still. The items are in os/session/pin.def;
 * doc/pin.md has the whole.
 *
 *   cli/pin.c          the words of --pin; what is done before the first program begins: environment, one CPU
 *   cli/pids.h         process ids
 *   os/task/stack.c    where the stack begins
 *   isa/level.h        the processor
 *   os/pin/pin.c       which system calls are served otherwise; terminals; /proc/cpuinfo
 *   os/pin/machine.h   memory and load
 *   os/pin/random.h    random numbers
 *   os/pin/clock.h     virtual time
 *   os/pin/wait.h      waiting under it
 *   os/pin/directory.h the order of directories
 *   os/pin/turn.h      the schedule of threads
 */
#ifndef OS_PIN_H
#define OS_PIN_H

#include "os/session/process.h"

typedef long syscall_handler(struct thread *t, const u64 *a);
/* Serves a system call in place of `host`, which it may call. */
typedef long pin_handler(struct thread *t, const u64 *a, syscall_handler *host);

/* A program begins in its first thread, which has its task. first: of the session. */
void pin_program_begins(struct thread *t, bool first);

/*
 * The seed of a new task, or of a program that is executed. A task then begins, once it has counters and clone_flags.
 */
u64 pin_new_task(struct thread *t);
void pin_task_begins(struct thread *t, u64 seed);

/* It ends, and maybe its process. */
void pin_task_ends(struct thread *t);

/* For what the thread is about to execute. */
void pin_hand_over(struct thread *t, struct session_config *config);

/* Serves a system call, which `host` does if nothing is pinned. */
long pin_call(struct thread *t, const u64 *a, syscall_handler *host);

/* What the processor's counter says to an instruction that reads it: it has a tick for each nanosecond. */
u64 pin_clock_ticks(struct thread *t);

/* Whether a file says otherwise than the host's. Its text, in parts: the length of that one, 0: there are no more. */
bool pin_is_file(const char *path);
#define PIN_FILE_PART 2048
size_t pin_file(const char *path, u32 part, char buf[PIN_FILE_PART]);

#endif
