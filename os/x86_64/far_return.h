/*
 * What the translator leaves to os/ because it changes more than rip, rsp and status flags: returns with a code
 * segment (lret, iret), and popf of a value with the trap flag. Segments are those of 64-bit user mode, or else a
 * fault as the processor's.
 */
#ifndef OS_FAR_RETURN_H
#define OS_FAR_RETURN_H

#include "os/session/thread.h"

/* After DBT_EMULATE: does the instruction at cpu->rip, or raises the signal that it causes. */
void far_return_emulate(struct thread *t);

#endif
