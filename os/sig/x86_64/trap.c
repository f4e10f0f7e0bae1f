/* See os/sig/trap.h. */
#include "os/sig/trap.h"
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/prctl.h>
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define PAGE_FAULT_WRITE 2u
#define TRAP_DEBUG	 1
#define TRAP_PROTECTION	 13
#define TRAP_PAGE_FAULT	 14
#define OPERAND_SIZE	 0x66
#define PUSHF		 0x9c
#define UD2_LEN		 2
#define INT1		 0xf1
#define INT3		 0xcc

/*
 * gVisor says neither which exception it was nor its error code: all are 0, which on Linux is a division's alone. With
 * SIGSEGV and SIGTRAP that is how it is known.
 */
static bool is_untold(const u64 *greg)
{
	return !greg[GREG_TRAPNO] && !greg[GREG_ERR];
}

bool trap_is_write(int signo, s32 code, const u64 *greg, gva *addr)
{
	*addr = greg[GREG_CR2];
	return signo == SIGSEGV && code == SEGV_ACCERR &&
	       (is_untold(greg) || (greg[GREG_TRAPNO] == TRAP_PAGE_FAULT && (greg[GREG_ERR] & PAGE_FAULT_WRITE)));
}

bool trap_is_step(const struct thread *t, const u64 *greg, s32 code)
{
	if (is_untold(greg))
		return !t->stepped_int3;
	return greg[GREG_TRAPNO] == TRAP_DEBUG && (code == TRAP_TRACE || ((const u8 *)greg[GREG_RIP])[-1] != INT1);
}

void trap_note(struct thread *t, const u64 *greg)
{
	t->trap_no = greg[GREG_TRAPNO];
	t->trap_err = greg[GREG_ERR];
	if (t->trap_no == TRAP_PAGE_FAULT)
		t->trap_cr2 = greg[GREG_CR2];
}

void trap_set(struct thread *t, u64 trap_no, u64 err, u64 addr)
{
	t->trap_no = trap_no;
	t->trap_err = err;
	if (trap_no == TRAP_PAGE_FAULT)
		t->trap_cr2 = addr;
	t->cpu->rflags |= FLAGS_RESUME; /* as faults push it */
}

void trap_step(struct thread *t, u64 *greg)
{
	const u8 *code = (const u8 *)greg[GREG_RIP];

	if (*code == OPERAND_SIZE)
		code++;
	t->stepped_pushf = *code == PUSHF;
	t->stepped_int3 = *code == INT3;
	greg[GREG_EFL] |= FLAGS_STEP;
}

void trap_stepped(struct thread *t, u64 *greg)
{
	trap_step_ends(t, greg);
	if (t->stepped_pushf)
		*(u16 *)greg[GREG_RSP] &= (u16)~FLAGS_STEP;
}

void trap_step_ends(struct thread *t, u64 *greg)
{
	greg[GREG_EFL] &= ~FLAGS_STEP;
}

bool trap_abort_window(struct thread *t, u64 *greg)
{
	u64 pc = greg[GREG_RIP];

	if (pc < (u64)window_begin || pc > (u64)window_enter)
		return false;
	t->again_entered = greg[GREG_RCX] != 0;
	if (greg[GREG_RAX] == __NR_restart_syscall)
		t->again_rax = greg[GREG_RAX];
	greg[GREG_RIP] = (u64)window_abort;
	return true;
}

bool trap_is_of_mask(u64 *greg)
{
	if (greg[GREG_RIP] != (u64)signal_mask_by_trap)
		return false;
	greg[GREG_RIP] += UD2_LEN;
	return true;
}

bool trap_is_of_counter(u64 *greg)
{
	static const u8 rdtsc[] = {0x0f, 0x31}, rdtscp[] = {0x0f, 0x01, 0xf9};
	const void *code = (const void *)greg[GREG_RIP];
	bool with_aux;
	u32 aux = 0;
	u64 ticks;

	if (greg[GREG_TRAPNO] != TRAP_PROTECTION)
		return false;
	with_aux = !memcmp(code, rdtscp, sizeof(rdtscp));
	if (!with_aux && memcmp(code, rdtsc, sizeof(rdtsc)))
		return false;
	if (sys2(__NR_prctl, PR_SET_TSC, PR_TSC_ENABLE))
		return false;
	ticks = with_aux ? __builtin_ia32_rdtscp(&aux) : __builtin_ia32_rdtsc();
	sys2(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	greg[GREG_RAX] = (u32)ticks;
	greg[GREG_RDX] = ticks >> 32;
	if (with_aux)
		greg[GREG_RCX] = aux;
	greg[GREG_RIP] += with_aux ? sizeof(rdtscp) : sizeof(rdtsc);
	return true;
}

void trap_dump(const u64 *g)
{
	log_printf(0, "error %#lx, rax %lx rcx %lx rdx %lx rbx %lx rsp %lx rbp %lx rsi %lx rdi %lx", g[GREG_ERR],
		   g[GREG_RAX], g[GREG_RCX], g[GREG_RDX], g[GREG_RBX], g[GREG_RSP], g[GREG_RBP], g[GREG_RSI],
		   g[GREG_RDI]);
	log_printf(0, "r8 %lx r9 %lx r10 %lx r11 %lx r12 %lx r13 %lx r14 %lx r15 %lx", g[GREG_R8], g[GREG_R9],
		   g[GREG_R10], g[GREG_R11], g[GREG_R12], g[GREG_R13], g[GREG_R14], g[GREG_R15]);
}

void trap_raise(int signo)
{
	switch (signo) {
	case SIGSEGV:
		__asm__ volatile("hlt");
		break;
	case SIGILL:
		__asm__ volatile("ud2");
		break;
	case SIGTRAP:
		__asm__ volatile("int3");
		break;
	case SIGFPE:
		__asm__ volatile("xor %%eax, %%eax; div %%eax" : : : "eax", "edx", "cc");
		break;
	}
}
