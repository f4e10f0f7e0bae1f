/*
 * gettimeofday, time and getcpu at the fixed addresses where they were before there was a vDSO: C libraries of before
 * 2012 call them. Nothing is there to be executed; the kernel does the call when the fetch faults, and so does pcl.
 */
#ifndef OS_X86_64_VSYSCALL_H
#define OS_X86_64_VSYSCALL_H

#include "os/session/thread.h"

/* True: cpu->rip was one of these, and the call was made, or has to be begun again. Else it is a fault. */
bool vsyscall_emulate(struct thread *t);

#endif
