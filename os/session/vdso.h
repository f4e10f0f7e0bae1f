/*
 * The kernel's vDSO in this process, and the two functions of it that tell the time to the nanosecond.
 *
 * The kernel's own code for clock_gettime and gettimeofday divides in a loop, and begins again when the kernel changes
 * its data meanwhile: now and then a call is ten instructions longer. So the guest's symbols of both lead to an
 * instruction that the runtime executes, a cpuid with a ret behind it, in bytes of the ELF header that mean nothing.
 * The runtime calls the kernel's function. A call of the guest's is these two instructions, always.
 *
 * What the runtime cannot do in the guest's place (a clock that takes a system call, an address that cannot be written,
 * watched memory) the guest does itself: it goes on in the kernel's function as if it had been called, and the cpuid
 * does not count.
 */
#ifndef OS_VDSO_H
#define OS_VDSO_H

#include "abi/types.h"
#include "os/session/thread.h"

/* How far the vDSO at base reaches, from its own headers. */
u64 vdso_end(u64 base);

/*
 * In a new image, before the vDSO is moved: finds the functions, and makes the guest's symbols lead to the runtime.
 * [base, end): all of the mapping. Where memory cannot be both written and executed they stay as they are.
 */
void vdso_prepare(u64 base, u64 end);

/* clock_gettime(2) by the kernel's function: 0, or another number: it is to be had by a system call only. */
int vdso_clock_gettime(s32 clock, u64 ts[2]);

/*
 * os/session/x86_64/vdso.c: an entry, of at most VDSO_ENTRY bytes; an argument of who came to it; the function has
 * succeeded.
 */
#define VDSO_ENTRY 3u
void vdso_entry_write(u8 *at);
u64 vdso_entry_arg(const struct cpu *cpu, u32 i);
void vdso_entry_done(struct cpu *cpu);

enum vdso_served {
	VDSO_NOT, /* the cpuid at cpu->rip is the guest's own */
	VDSO_DONE,
	VDSO_GOES_ON, /* nothing was executed; the guest goes on in the kernel's function */
};

/* After DBT_CPUID. */
enum vdso_served vdso_serve(struct thread *t);

#endif
