/* See vsyscall.h. */
#include "os/x86_64/vsyscall.h"
#include <asm/errno.h>
#include "isa/insn.h"
#include "os/mm/procmaps.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define PAGE_OF_VSYSCALL 0xffffffffff600000ul
#define EACH		 0x400u

static const u32 numbers[] = {__NR_gettimeofday, __NR_time, __NR_getcpu};

/* The kernel does these calls (vsyscall=xonly or emulate on its command line). */
static bool are_served(void)
{
	static u32 known; /* 1 no, 2 yes */
	u32 found = __atomic_load_n(&known, __ATOMIC_RELAXED);
	char buffer[PROCMAPS_BUFFER];
	struct procmaps_line line;
	struct procmaps pm;

	if (found || procmaps_open(&pm, "self/maps", buffer))
		return found == 2;
	found = 1;
	while (procmaps_next(&pm, &line))
		if (!strcmp(line.name, "[vsyscall]"))
			found = 2;
	procmaps_close(&pm);
	__atomic_store_n(&known, found, __ATOMIC_RELAXED);
	return found == 2;
}

/*
 * As if there was a syscall instruction: it counts, and rip is behind it. Where the call has to be begun again
 * syscall_dispatch() takes back both.
 */
static void count(struct thread *t)
{
	static const u8 code[] = ARCH_SYSCALL;
	struct snapshot_regs before;
	struct insn in;

	perf_regs(t->cpu, &before);
	isa_decode(code, sizeof(code), &in);
	t->cpu->rip += sizeof(code);
	perf_counted(t, &before, &in);
}

bool vsyscall_emulate(struct thread *t)
{
	u64 pc = t->cpu->rip, sp = cpu_get_gpr(t->cpu, RSP), i = (pc - PAGE_OF_VSYSCALL) / EACH, caller;

	if (i >= ARRAY_SIZE(numbers) || pc % EACH || guest_read(&caller, sp, sizeof(caller)) || !are_served())
		return false;
	cpu_set_gpr(t->cpu, RAX, numbers[i]);
	count(t);
	syscall_dispatch(t);
	if (t->cpu->rip == pc)
		return true;
	if (cpu_get_gpr(t->cpu, RAX) == (u64)-EFAULT) {
		t->cpu->rip = pc;
		cpu_set_gpr(t->cpu, RAX, (u64)-ENOSYS); /* as the kernel leaves it */
		return false;
	}
	t->cpu->rip = caller;
	cpu_set_gpr(t->cpu, RSP, sp + sizeof(caller));
	return true;
}
