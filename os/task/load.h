/* Loading the guest's program into a fresh image. */
#ifndef OS_LOAD_H
#define OS_LOAD_H

#include "os/session/thread.h"

/* Where the images are; addresses, ends are of the page after. No interpreter: 0. */
struct load_result {
	gva program, program_end, interp, interp_end;
	gva entry;	     /* of the program, to which its dynamic linker goes on */
	bool program_placed; /* it is not where it was linked */
	gva vdso;	     /* 0: none */
};

/*
 * Loads the program that the task's slot names, builds its stack and sets the guest's registers. kernel_sp is the stack
 * pointer that the kernel gave this image; the kernel's stack is unmapped on return, so take what you need from
 * it before. Does not return if the program cannot be loaded: the session's first says so, and ends with the shell's
 * status 126 or 127 or, where Linux has no way back any more, by SIGSEGV. A later one dies as under Linux.
 */
void load_program(struct thread *t, const u64 *kernel_sp, struct load_result *out);

#endif
