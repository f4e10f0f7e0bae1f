/*
 * The guest's initial stack, laid out to the byte as Linux does it, so that what libc computes from it at start takes
 * as many instructions as natively.
 */
#ifndef OS_STACK_H
#define OS_STACK_H

#include "abi/types.h"
#include "os/mm/elf.h"

/* The kernel's own initial stack of this process, taken apart. */
struct stack_kernel {
	u64 argc;
	const u64 *argv, *envp, *auxv; /* arrays as the kernel made them */
	u64 envc, auxc;		       /* auxc: pairs, AT_NULL included */
	/* the last string of the environment, which is not counted: see os/session/handover.h; NULL: there is none */
	char *handover;
	const char *strings;	       /* the strings of argv and envp, in one piece */
	u64 strings_len;
};

/* What differs from the kernel's auxiliary vector. */
struct stack_program {
	const char *exec_name;		    /* AT_EXECFN */
	gva phdr, entry, interp_base, vdso; /* interp_base 0: no interpreter; vdso 0: none */
	u16 phnum;
	bool exec_stack;
	u64 random_shift;  /* with --aslr: the stack begins that much lower; else 0 */
	bool random_bytes; /* AT_RANDOM from the kernel; else fixed */
};

/* Where everything went, for PR_SET_MM_MAP. */
struct stack_built {
	gva sp, arg_start, arg_end, env_start, env_end, auxv;
	u64 auxv_size;
};

void stack_parse_kernel(const u64 *sp, struct stack_kernel *out);
/* The value of an entry of the kernel's auxiliary vector, 0 if it is not there. */
u64 stack_kernel_auxv(const struct stack_kernel *k, u64 type);
/* The kernel's stack was copied from `from` on to `to`, and is gone: all pointers into it follow, those in the copy
 * too. */
void stack_relocate_kernel(struct stack_kernel *k, const u64 *from, u64 *to);

/*
 * Finds where the stack ends: at LAYOUT_GUEST_END, or by whole TiB lower, since there are hosts that keep the highest
 * addresses to themselves (gVisor, 1 TiB). False: nowhere above pcl's own memory.
 */
bool stack_find_top(void);
gva stack_top(void);
/* Bytes below that, which the stack may come to occupy. */
u64 stack_reserve(void);

/* Maps and fills the stack. 0 or -errno. */
int stack_build(const struct stack_kernel *k, const struct stack_program *prog, struct stack_built *out);

#endif
