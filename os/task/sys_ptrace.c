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
#include "os/task/registers.h"
#include "rt/guest.h"
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

static long get_regs(s32 tid, const struct cpu *cpu, gva to, u64 size)
{
	u64 regs[USER_REGS];
	long ret = sys4(__NR_ptrace, PTRACE_GETREGS, tid, 0, regs);

	if (ret)
		return ret;
	registers_show(regs, cpu);
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
