/* The main loop of a guest thread: translated code, and what it stops for. */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include "os/session/thread.h"

/* Runs the guest from the registers in t->cpu, on the thread's runtime stack, until the thread ends. */
void loop_run(struct thread *t) __attribute__((noreturn));

#endif
