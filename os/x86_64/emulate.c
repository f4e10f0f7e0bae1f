/* See os/emulate.h. */
#include "os/emulate.h"
#include <asm/siginfo.h>
#include <asm/signal.h>
#include "os/guest_insn.h"
#include "os/pin/pin.h"
#include "os/session/refusals.h"
#include "os/session/vdso.h"
#include "os/sig/signal.h"
#include "os/trap_flag.h"
#include "os/x86_64/cpuid.h"
#include "os/x86_64/far_return.h"
#include "os/x86_64/vsyscall.h"
#include "perf/perf.h"

#define RDTSC_LEN 2
#define OP_SYSENTER 0x34
#define TRAP_INVALID_OPCODE 6
#define TRAP_PROTECTION	    13
#define TRAP_PAGE_FAULT	    14
#define PF_USER_FETCH	    0x14 /* error code: user mode, instruction fetch */

/* For the kernel's addresses Linux always says that there is a page. */
static u64 fetch_error(const struct dbt_fault *f)
{
	return PF_USER_FETCH | (f->code == SEGV_ACCERR || f->addr >= LAYOUT_GUEST_END);
}

void emulate_fetch_fault(struct thread *t, const struct dbt_fault *f)
{
	u64 high = f->addr >> 47;

	if (vsyscall_emulate(t))
		return;
	if (high != 0 && high != 0x1ffff) /* not canonical: a general protection fault */
		signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, 0);
	else if (f->signo == SIGILL)
		signal_fault(t, SIGILL, f->code, f->addr, TRAP_INVALID_OPCODE, 0);
	else {
		perf_fetch_fault(t, f->addr);
		signal_fault(t, f->signo, f->code, f->addr, TRAP_PAGE_FAULT, fetch_error(f));
	}
}

/* An instruction was done here, or (err) may not be. */
static void emulated(struct thread *t, int err)
{
	if (err)
		signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, 0);
	else if (trap_flag_is_set(t))
		trap_flag_raise(t);
}

static void serve_cpuid(struct thread *t)
{
	enum vdso_served served = vdso_serve(t);

	if (served != VDSO_GOES_ON)
		emulated(t, served == VDSO_DONE ? 0 : cpuid_emulate(t));
}

/* rdtsc or rdtscp. What the second one says of the CPU is true. */
static int read_counter(struct thread *t)
{
	struct snapshot_regs before;
	struct insn in;
	u64 ticks;

	if (t->no_tsc)
		return -EFAULT;
	ticks = pin_clock_ticks(t);
	perf_regs(t->cpu, &before);
	cpu_set_gpr(t->cpu, RAX, (u32)ticks);
	cpu_set_gpr(t->cpu, RDX, ticks >> 32);
	if (guest_insn_decode(t->cpu->rip, &in) && in.writes & 1u << RCX)
		cpu_set_gpr(t->cpu, RCX, host_current_cpu());
	perf_emulated(t, &before, RDTSC_LEN);
	return 0;
}

/* sysenter, or int $0x80, whose vector is not the user's on a kernel without IA32 emulation: as which pcl is. */
static void enter_32(struct thread *t)
{
	struct insn in;

	if (guest_insn_decode(t->cpu->rip, &in) && in.opcode == OP_SYSENTER && !cpuid_has_sysenter()) {
		signal_fault(t, SIGILL, ILL_ILLOPN, t->cpu->rip, TRAP_INVALID_OPCODE, 0);
		return;
	}
	refusals_add_instruction(t, SIGSEGV, "int 0x80 or sysenter: there are no system calls of 32 bits");
	signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, 0x80 * 8 + 2);
}

void emulate(struct thread *t, enum dbt_stop stop)
{
	switch (stop) {
	case DBT_SYSENTER:
		enter_32(t);
		break;
	case DBT_RDPMC:
		emulated(t, perf_rdpmc(t));
		break;
	case DBT_CPUID:
		serve_cpuid(t);
		break;
	case DBT_XGETBV:
		emulated(t, xgetbv_emulate(t));
		break;
	case DBT_RDTSC:
		emulated(t, read_counter(t));
		break;
	case DBT_EMULATE:
		far_return_emulate(t);
		break;
	default:
		break;
	}
}
