/*
 * ptrace, for a tracer that shares memory with those it traces: that is how LeakSanitizer stops the threads of its own
 * program to look at their registers. Any other tracer would see the runtime's registers and memory in place of the
 * guest's. EPERM is what a kernel says that does not allow tracing (Yama, seccomp profiles), so debuggers explain it.
 */
#include <errno.h>
#include <elf.h>
#include <linux/ptrace.h>
#include <sys/uio.h>
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/refuse.h"
#include "rt/sys.h"

/* The thread of this memory with that id is a task; NULL: there is none. */
static const struct cpu *shared_cpu(struct thread *t, s32 tid)
{
	const struct cpu *cpu = NULL;

	lock_acquire(&t->proc->threads_lock);
	for (const struct thread *other = t->proc->threads; other; other = other->next)
		if (other->tid == tid && other != t)
			cpu = other->cpu;
	lock_release(&t->proc->threads_lock);
	return cpu;
}

/* struct user_regs_struct as an array. */
enum { USER_RIP = 16, USER_EFLAGS = 18, USER_REGS = 27 };

/* Where it has the general registers, in the order of RAX .. R15. */
static const u8 user_reg[16] = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};

/*
 * Registers of a stopped thread as its program has them. In translated code all but the stolen one and rip are in
 * place: rip then stays that of the last time in the runtime.
 */
static void show_guest(u64 *regs, const struct cpu *cpu)
{
	bool in_cache = regs[USER_RIP] >= LAYOUT_CACHE && regs[USER_RIP] < LAYOUT_CACHE + LAYOUT_CACHE_SIZE;

	regs[USER_RIP] = cpu->rip;
	for (unsigned i = 0; i < ARRAY_SIZE(user_reg); i++)
		if (!in_cache || i == STOLEN)
			regs[user_reg[i]] = cpu_get_gpr(cpu, i);
	if (!in_cache)
		regs[USER_EFLAGS] = cpu->rflags;
}

static long get_regs(s32 tid, const struct cpu *cpu, gva to, u64 size)
{
	u64 regs[USER_REGS];
	long ret = sys4(__NR_ptrace, PTRACE_GETREGS, tid, 0, regs);

	if (ret)
		return ret;
	show_guest(regs, cpu);
	return guest_write(to, regs, MIN(size, sizeof(regs)));
}

static long get_regset(s32 tid, const struct cpu *cpu, u64 type, gva to)
{
	struct iovec iov;
	long ret;

	if (type != NT_PRSTATUS)
		return sys4(__NR_ptrace, PTRACE_GETREGSET, tid, type, to);
	if (guest_read(&iov, to, sizeof(iov)))
		return -EFAULT;
	ret = get_regs(tid, cpu, (gva)iov.iov_base, iov.iov_len);
	iov.iov_len = MIN(iov.iov_len, USER_REGS * sizeof(u64));
	return ret ? ret : guest_write(to, &iov, sizeof(iov));
}

long sys_ptrace(struct thread *t, const u64 *a)
{
	s32 tid = (s32)a[1];
	const struct cpu *cpu = shared_cpu(t, tid);

	if (!cpu)
		return refuse(EPERM, "tracing of programs under pcl is not supported");
	switch (a[0]) {
	case PTRACE_ATTACH:
	case PTRACE_DETACH:
	case PTRACE_CONT:
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_GETEVENTMSG:
	case PTRACE_GETSIGINFO:
		return syscall_pass(t, a);
	case PTRACE_GETREGS:
		return get_regs(tid, cpu, a[3], USER_REGS * sizeof(u64));
	case PTRACE_GETREGSET:
		return get_regset(tid, cpu, a[2], a[3]);
	default:
		return refuse(EIO, "this request of ptrace is not supported under pcl");
	}
}
