/* See syscall.h. */
#include <asm/errno.h>
#include "cpu/bank.h"
#include "dbt/dbt.h"
#include "event/task.h"
#include "isa/insn.h"
#include "os/files/vfile.h"
#include "os/kernel_writes.h"
#include "os/mm/own_memory.h"
#include "os/pin/pin.h"
#include "os/session/process.h"
#include "os/session/refusals.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "os/task/user_dispatch.h"
#include "perf/perf.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/stress.h"
#include "rt/sys.h"
#include "show/syscall.h"

#define SYSCALL_LINE 2048

struct syscall_row {
	const char *name, *formats;
	syscall_handler *handler;
	u8 descriptors, pointers; /* bit per argument */
};

#define IS_DESCRIPTOR(formats, i) ((sizeof(formats) > (i) + 1 && (formats[i] == 'f' || formats[i] == 'a')) << (i))
#define DESCRIPTORS(formats)                                                                                           \
	(IS_DESCRIPTOR(formats, 0) | IS_DESCRIPTOR(formats, 1) | IS_DESCRIPTOR(formats, 2) |                           \
	 IS_DESCRIPTOR(formats, 3) | IS_DESCRIPTOR(formats, 4) | IS_DESCRIPTOR(formats, 5))

#define IS_POINTER(formats, i) ((sizeof(formats) > (i) + 1 && (formats[i] == 'p' || formats[i] == 'B')) << (i))
#define POINTERS(formats)                                                                                              \
	(IS_POINTER(formats, 0) | IS_POINTER(formats, 1) | IS_POINTER(formats, 2) | IS_POINTER(formats, 3) |           \
	 IS_POINTER(formats, 4) | IS_POINTER(formats, 5))

static const struct syscall_row rows[] = {
#define pass					   syscall_pass
#define SYSCALL(nr, name, handler, level, formats)                                                                     \
	[nr] = {#name, formats, handler, DESCRIPTORS(formats), POINTERS(formats)},
#include ARCH_HEADER(os, syscalls.def)
#undef SYSCALL
#undef pass
};

#define X32_SHIFT 30 /* of __X32_SYSCALL_BIT, the highest of such a number */

/*
 * A number that the table does not have: of a newer kernel's, or one of the x32 ABI, whose calls would pass by all
 * that pcl does for those it knows.
 */
static long call_unknown(struct thread *t, const u64 *a)
{
	return t->nr >> X32_SHIFT == 1 ? refuse(ENOSYS, "x32: as a kernel without it") : syscall_pass(t, a);
}

static const struct syscall_row unknown = {NULL, NULL, call_unknown, 0, 0};

static const u8 syscall_insn[] = ARCH_SYSCALL;

static long call(struct thread *t, long nr, const u64 *args)
{
	u64 since = perf_sideband_wanted(t, SB_SWITCH) ? host_clock_perf() : 0;
	bool retried = false;
	long ret;

	for (;;) {
		t->again_rax = t->nr;
		t->again_entered = 0;
		t->kicked = 0;
		ret = syscall_window(args, nr, &t->attention);
		if (unlikely(since))
			perf_switches(t, since);
		if (ret == -EFAULT && !retried && dbt_unprotect_all())
			retried = true;
		else if (ret != -EINTR || !t->kicked || t->attention)
			return ret;
	}
}

long thread_syscall(struct thread *t, long nr, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5)
{
	u64 args[6] = {a0, a1, a2, a3, a4, a5};
	long done = 0, ret;

	if (unlikely(t->clock_state == CLOCK_RUNNING))
		perf_timer_call_begins(t, nr, args);
	ret = call(t, nr, args);
	while (unlikely(t->clock_fired) && perf_timer_call_cut(t, nr, args, ret)) {
		done += ret;
		args[1] += (u64)ret;
		args[2] -= (u64)ret;
		ret = call(t, nr, args);
	}
	return done && ret < 0 ? done : done + ret;
}

long syscall_pass(struct thread *t, const u64 *a)
{
	return thread_syscall(t, (long)t->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The instruction was not executed after all. */
static void uncount(struct cpu *cpu)
{
	struct insn in;

	if (cpu->variant & CPU_WANT_BLOCKS)
		cpu_count_besides(cpu, CELL_INSTRUCTIONS, -1);
	if (cpu->variant & CPU_WANT_KINDS)
		cpu_count_besides(cpu, CELL_SYSCALLS, -1);
	if ((cpu->variant & CPU_WANT_CYCLES) && isa_decode(syscall_insn, sizeof(syscall_insn), &in) > 0)
		cpu_count_besides(cpu, CELL_CYCLES, -(s64)in.weight);
}

static void print_call(struct thread *t, const struct syscall_row *row, long ret, bool unfinished)
{
	char line[SYSCALL_LINE];
	struct show_call call = {
		.name = row->name,
		.formats = row->formats,
		.nr = (long)t->nr,
		.args = t->args,
		.result = ret,
		.unfinished = unfinished,
		.why = the_process.config.strace > 1 ? t->refusal.why : NULL,
		.abi_2009 = the_process.config.abi == SESSION_ABI_2009,
		.read = guest_read,
		.read_str = guest_read_str,
	};
	size_t len = rt_append(line, sizeof(line) - 1, 0, "[%d] ", t->tid);

	len += show_syscall(line + len, sizeof(line) - 1 - len, &call);
	line[len] = '\n';
	log_write(line, len + 1);
}

/* Calls that do not come back. An execve that succeeds is printed by the new image. */
static bool may_not_return(u64 nr)
{
	return nr == __NR_exit || nr == __NR_exit_group;
}

/* The second return of a fork: the parent prints the call. */
static bool is_new_process(const struct thread *t, long ret)
{
	return ret == 0 && t->regs_replaced && t->nr != __NR_rt_sigreturn;
}

static void go_back(struct thread *t)
{
	t->cpu->rip -= sizeof(syscall_insn);
	cpu_set_gpr(t->cpu, REG_RESULT, t->again_rax);
	if (!t->again_entered)
		uncount(t->cpu);
}

/* As the kernel leaves it: with the call's number in its register, behind the instruction. */
static void raise_trapped(struct thread *t)
{
	t->fault.signo = SIGSYS;
	t->attention = 1;
	cpu_set_gpr(t->cpu, REG_NUMBER, t->nr);
}

const char *syscall_name(u64 nr)
{
	return nr < ARRAY_SIZE(rows) ? rows[nr].name : NULL;
}

const char *syscall_formats(u64 nr)
{
	return nr < ARRAY_SIZE(rows) ? rows[nr].formats : NULL;
}

static struct thread_call *note_call(struct thread *t)
{
	struct thread_call *c = &t->call[t->calls_done++ % THREAD_CALLS];

	*c = (struct thread_call){.nr = t->nr, .args = {t->args[0], t->args[1], t->args[2]}};
	return c;
}

static bool has_own(const struct syscall_row *row, const u64 *args)
{
	for (u32 left = row->descriptors; left; left &= left - 1)
		if (vfile_fd_hidden((s32)args[__builtin_ctz(left)]))
			return true;
	return false;
}

/* Instead of pcl's own descriptors the call gets a number that is never open, and the kernel says what that means. */
static long __attribute__((noinline)) serve_without_own(struct thread *t, const struct syscall_row *row)
{
	u64 args[6];

	for (unsigned int i = 0; i < ARRAY_SIZE(args); i++) {
		args[i] = t->args[i];
		if ((row->descriptors >> i & 1) && vfile_fd_hidden((s32)args[i]))
			args[i] = VFILE_NEVER_OPEN;
	}
	return unlikely(the_process.config.pin) ? pin_call(t, args, row->handler) : row->handler(t, args);
}

static long serve(struct thread *t, const struct syscall_row *row)
{
	kernel_writes_prepare(t, t->args, row->pointers, row->formats);
	if (unlikely(has_own(row, t->args)))
		return serve_without_own(t, row);
	return unlikely(the_process.config.pin) ? pin_call(t, t->args, row->handler) : row->handler(t, t->args);
}

void syscall_dispatch(struct thread *t)
{
	static const u8 order[6] = {REG_ARGS};
	const struct syscall_row *row = &unknown;
	struct thread_call *noted;
	unsigned int i;
	long ret;

	t->again_rax = cpu_get_gpr(t->cpu, REG_RESULT);
	t->nr = (u64)(s32)cpu_get_gpr(t->cpu, REG_NUMBER); /* as the kernel */
	t->again_entered = 0;
	if (t->attention) {
		go_back(t);
		return;
	}
	if (unlikely(t->dispatch.on) && user_dispatch_takes(t))
		return;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		t->args[i] = cpu_get_gpr(t->cpu, order[i]);
	if (t->nr < ARRAY_SIZE(rows) && rows[t->nr].name)
		row = &rows[t->nr];
	noted = note_call(t);
	t->refusal.why = NULL;
	t->regs_replaced = 0;
	perf_call_enter(t);
	if (unlikely(the_process.config.strace) && may_not_return(t->nr))
		print_call(t, row, 0, true);
	t->serving = 1;
	t->trapped = 0;
	if (unlikely(__atomic_load_n(&own_memory_watching, __ATOMIC_RELAXED)))
		own_memory_call(t, row->descriptors);
	check(!(stress(STRESS_FAIL) && t->nr == __NR_exit_group));
	ret = serve(t, row);
	t->serving = 0;
	noted->ret = ret;
	stat_inc(syscalls);
	stat_add(refusals, ret < 0 && t->refusal.why);
	if (unlikely(ret < 0 && t->refusal.why) && refusals_add(t, ret))
		signal_catch_fatal(t);
	if (ret == SYSCALL_AGAIN) {
		perf_call_exit(t, ret);
		go_back(t);
		return;
	}
	if (unlikely(the_process.config.strace) && !(may_not_return(t->nr) && ret >= 0) && !is_new_process(t, ret))
		print_call(t, row, ret, false);
	if (unlikely(t->trapped && ret == -ENOSYS))
		raise_trapped(t);
	else if (!t->regs_replaced)
		cpu_set_gpr(t->cpu, REG_RESULT, (u64)ret);
	perf_call_exit(t, ret);
}
