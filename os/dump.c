/*
 * See dump.h. The process is about to end, in a state that somebody took for impossible: nothing is believed to be more
 * than a number, nothing is locked, and what is printed first is what is known best.
 */
#include "os/dump.h"

#include "dbt/dbt.h"
#include "os/session/process.h"
#include "os/syscall.h"
#include "rt/fmt.h"
#include "rt/log.h"
#include "rt/string.h"
#include "show/regs.h"

#define TEXT 512

static void print_task(const struct thread *t)
{
	log_printf(0, "task: slot %u, pid %d, tid %d (host %d, %d), locks held %#lx%s%s", t->cpu ? t->cpu->slot : 0,
		   t->pid, t->tid, t->host_pid, t->host_tid, t->locks.ranks, t->section.open ? ", in a section" : "",
		   t->is_apart ? ", on a helper thread" : "");
}

static void print_registers(const struct cpu *cpu)
{
	struct show_regs regs = {.rip = cpu->rip, .rflags = cpu->rflags};
	char text[TEXT], *line = text, *end;

	for (unsigned r = 0; r < CPU_GPRS; r++)
		regs.gpr[r] = cpu_get_gpr(cpu, r);
	text[MIN(show_regs(text, sizeof(text), &regs), sizeof(text) - 1)] = 0;
	log_printf(0, "guest, as it was when it came to the runtime last:");
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		log_printf(0, "  %s", line);
	}
}

static void print_block(const struct cpu *cpu)
{
	char text[TEXT];

	dbt_describe(cpu, text, sizeof(text));
	log_printf(0, "block: %s", text);
}

static void print_calls(const struct thread *t)
{
	log_printf(0, "last system calls, newest first%s:", t->serving ? " (that one is being served)" : "");
	for (u32 i = 0; i < MIN(t->calls_done, (u32)THREAD_CALLS); i++) {
		const struct thread_call *c = &t->call[(t->calls_done - 1 - i) % THREAD_CALLS];
		const char *name = syscall_name(c->nr);

		if (name)
			log_printf(0, "  %s(%#lx, %#lx, %#lx) = %ld", name, c->args[0], c->args[1], c->args[2], c->ret);
		else
			log_printf(0, "  call %lu(%#lx, %#lx, %#lx) = %ld", c->nr, c->args[0], c->args[1], c->args[2],
				   c->ret);
	}
}

static void dump(void)
{
	const struct thread *t = thread_current();

	if (!t) {
		log_printf(0, "on no guest thread's stack");
		return;
	}
	print_task(t);
	if (!t->cpu)
		return;
	log_printf(0, "pc: %#lx", t->cpu->rip);
	print_calls(t);
	print_block(t->cpu);
	print_registers(t->cpu);
}

void dump_init(void)
{
	log_set_dump(dump);
}
