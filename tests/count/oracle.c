/*
 * The oracle: runs a program natively, one instruction at a time, and says how many it executed.
 *
 *   oracle [-o FILE] [-l LIMIT] [-c CPU] [-s COLUMN:PERIOD | -s COLUMN:@FILE]... [-b] program [args...]
 *
 * PTRACE_SINGLESTEP over every thread of the program and of all its children (clone, fork, vfork, exec), each
 * instruction decoded with Zydis. Address-space randomisation is off for the program. Its exit status is the program's
 * (128 + signal for a death by signal).
 *
 * What counts as what (the rules that pcl's exact events promise):
 *  - an instruction counts when it completes; one that faults counts when it is executed again without a fault
 *  - a rep string instruction is one, although the trap flag fires on each of its iterations
 *  - syscall counts when the kernel is entered, so also exit and execve; a call that a handler interrupted and that is
 *    executed again counts again, as on hardware
 *  - branches are jcc, loop, jrcxz, jmp, call and ret, direct and indirect; not syscall
 *  - instructions of signal handlers and of the vDSO count like any others
 *
 * Constraint: under ptrace even an ignored signal (SIGCHLD) interrupts a blocking call, which the kernel then restarts
 * without any handler. The repeated syscall instruction is the tracer's doing and is not counted.
 * Linux quirk: a single-step trap while SIGTRAP is blocked unblocks it (force_sig), which the program could see. So
 * SIGTRAP is put back into the mask before each system call.
 *
 * Regions: a program marks the stretch to be counted by two system calls, see tests/count/region.h.
 *
 * Output, one line each:
 *   region LABEL N...     between two markers, of one thread
 *   task NUMBER N...      a thread, numbered in the order of creation, from its first instruction to its last
 *   exec N...             all tasks together
 * where N... are the numbers in the order of enum column.
 * With -s, before the line of a task, where every PERIOD-th event of that column (a number, as in enum column) was in
 * that thread, or those that are in FILE, as lines of a thread's number and one of its counts:
 *   sample NUMBER WHICH ADDRESS SP CODE
 * WHICH -s it is, counted from 0; the instruction's address, the stack pointer in front of it, and 8 bytes of code from
 * there on, which are the same at whatever address.
 * With -b, at once, every taken branch: that thread's instruction COUNT, from 1, and what perf calls the kind
 *   branch NUMBER COUNT FROM TO KIND
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/count/decode.h"
#include "tests/count/places.h"
#include "tests/count/region.h"

struct counts {
	uint64_t n[COLUMNS];
};

struct sample {
	uint64_t rip, sp, code;
	int which;
};

#define TASKS 4096
#define LABELS 256

struct task {
	pid_t tid;
	int number;
	struct counts counts;
	struct counts begin[LABELS];
	struct sample *samples;
	size_t sample_count, sample_room;
	struct decoded current; /* executed by the next step */
	uint64_t sp;		/* in front of it */
	bool stepping;		/* current is valid and not counted yet */
	bool counted_early;	/* current is a syscall, counted before the step */
	bool injected;		/* the last resume passed a signal on */
	bool trap_blocked;	/* the program has blocked SIGTRAP */
};

static struct task *tasks[TASKS];
static int task_count;
static struct counts total;
static FILE *out;
static uint64_t limit = UINT64_MAX;
static bool branches_wanted;

static void print_counts(const char *what, int number, const struct counts *c)
{
	fprintf(out, "%s", what);
	if (number >= 0)
		fprintf(out, " %d", number);
	for (int i = 0; i < COLUMNS; i++)
		fprintf(out, " %llu", (unsigned long long)c->n[i]);
	fprintf(out, "\n");
}

static struct task *task_find(pid_t tid)
{
	for (int i = 0; i < task_count; i++)
		if (tasks[i]->tid == tid)
			return tasks[i];
	return NULL;
}

static struct task *task_get(pid_t tid)
{
	struct task *t = task_find(tid);

	if (t)
		return t;
	if (task_count == TASKS)
		die("too many tasks");
	t = calloc(1, sizeof(*t));
	if (!t)
		die("calloc");
	t->tid = tid;
	t->number = task_count;
	tasks[task_count++] = t;
	return t;
}

static void task_gone(struct task *t)
{
	t->tid = -1; /* the kernel may use the number again */
	for (size_t i = 0; i < t->sample_count; i++)
		fprintf(out, "sample %d %d %llx %llx %llx\n", t->number, t->samples[i].which,
			(unsigned long long)t->samples[i].rip, (unsigned long long)t->samples[i].sp,
			(unsigned long long)t->samples[i].code);
	free(t->samples);
	print_counts("task", t->number, &t->counts);
	for (int i = 0; i < COLUMNS; i++)
		total.n[i] += t->counts.n[i];
}

static void add_sample(struct task *t, const struct decoded *d, int which)
{
	struct sample *s;

	if (t->sample_count == t->sample_room) {
		t->sample_room = t->sample_room ? 2 * t->sample_room : 64;
		t->samples = realloc(t->samples, t->sample_room * sizeof(*t->samples));
		if (!t->samples)
			die("realloc");
	}
	s = &t->samples[t->sample_count++];
	*s = (struct sample){.rip = d->rip, .sp = t->sp, .which = which};
	memcpy(&s->code, d->bytes, sizeof(s->code));
}

/* The counts went from `before` by 1 up or down: samples come or go. */
static void sample(struct task *t, const struct decoded *d, const struct counts *before)
{
	for (int i = 0; i < sampler_count; i++) {
		uint64_t was = before->n[samplers[i].column], now = t->counts.n[samplers[i].column];

		if (now == was || !is_place(t->number, i, now > was ? now : was))
			continue;
		if (now > was)
			add_sample(t, d, i);
		else
			t->sample_count--;
	}
}

static void print_branch(const struct task *t, const struct decoded *d, uint64_t to)
{
	const char *kind = d->kind == CONDITIONAL ? "cond"
			   : d->kind == RETURN	  ? "ret"
			   : d->kind == CALL	  ? "call"
						  : "jmp";

	fprintf(out, "branch %d %llu %llx %llx %s%s\n", t->number, (unsigned long long)t->counts.n[INSTRUCTIONS],
		(unsigned long long)d->rip, (unsigned long long)to, d->indirect ? "ind_" : "", kind);
}

static void count(struct task *t, const struct decoded *d, uint64_t next_rip, int by)
{
	struct counts before = t->counts;
	uint64_t *n = t->counts.n;
	bool branch = d->kind == CONDITIONAL || d->kind == JUMP || d->kind == CALL || d->kind == RETURN;
	bool taken = branch && (d->kind != CONDITIONAL || next_rip != d->rip + d->len);

	n[INSTRUCTIONS] += by;
	n[BRANCHES] += branch * by;
	n[COND] += (d->kind == CONDITIONAL) * by;
	n[TAKEN] += taken * by;
	n[CALLS] += (d->kind == CALL) * by;
	n[RETURNS] += (d->kind == RETURN) * by;
	n[INDIRECT] += d->indirect * by;
	n[LOADS] += d->loads * by;
	n[STORES] += d->stores * by;
	n[SYSCALLS] += (d->kind == SYSTEM) * by;
	sample(t, d, &before);
	if (taken && branches_wanted)
		print_branch(t, d, next_rip);
	if (n[INSTRUCTIONS] > limit) {
		fprintf(stderr, "oracle: more than %llu instructions\n", (unsigned long long)limit);
		exit(125);
	}
}

/* At a region marker: region.h says which registers hold what. The syscall instruction is counted already. */
static void marker(struct task *t, const struct user_regs_struct *r)
{
	unsigned label = r->r10 % LABELS;
	struct counts delta;

	if (r->r8 == REGION_BEGIN) {
		t->begin[label] = t->counts;
		return;
	}
	for (int i = 0; i < COLUMNS; i++)
		delta.n[i] = t->counts.n[i] - t->begin[label].n[i];
	print_counts("region", label, &delta);
}

#define SIGTRAP_BIT (1ul << (SIGTRAP - 1))

/* Before a system call: the signal mask as the program has it; and what this call will change about that. */
static void keep_sigtrap_blocked(struct task *t, const struct user_regs_struct *r)
{
	uint64_t mask, set;
	struct iovec local = { &set, sizeof(set) }, remote = { (void *)r->rsi, sizeof(set) };

	if (t->trap_blocked && !ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask)) {
		mask |= SIGTRAP_BIT;
		ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask);
	}
	if (r->rax != SYS_rt_sigprocmask || !r->rsi ||
	    process_vm_readv(t->tid, &local, 1, &remote, 1, 0) != sizeof(set))
		return;
	if (r->rdi == SIG_SETMASK || set & SIGTRAP_BIT)
		t->trap_blocked = r->rdi != SIG_UNBLOCK && set & SIGTRAP_BIT;
}

/*
 * cpuid, which a virtual machine's host executes. Some hosts (seen on Zen 5) forget the trap flag there, and the step's
 * trap comes one instruction late. So it is executed here, on the same processor, and the task finds its results.
 * False: the task is gone.
 */
static bool identify(struct task *t, struct user_regs_struct *r)
{
	uint32_t a, b, c, d;

	__cpuid_count((uint32_t)r->rax, (uint32_t)r->rcx, a, b, c, d);
	r->rax = a;
	r->rbx = b;
	r->rcx = c;
	r->rdx = d;
	r->rip += t->current.len;
	count(t, &t->current, r->rip, 1);
	return !ptrace(PTRACE_SETREGS, t->tid, 0, r);
}

/* The task's registers and the instruction that it executes next. False: it was killed meanwhile, waitpid will tell. */
static bool look_ahead(struct task *t, struct user_regs_struct *r)
{
	if (ptrace(PTRACE_GETREGS, t->tid, 0, r))
		return false;
	t->stepping = fetch(t->tid, r->rip, &t->current);
	t->sp = r->rsp;
	return true;
}

/* Lets the task execute one instruction, passing signal sig on if it is not 0. */
static void resume(struct task *t, int sig)
{
	struct user_regs_struct r;

	if (!look_ahead(t, &r))
		return;
	while (!sig && t->stepping && t->current.kind == IDENTIFY)
		if (!identify(t, &r) || !look_ahead(t, &r))
			return;
	t->counted_early = false;
	t->injected = sig != 0;
	if (t->stepping && t->current.kind == SYSTEM) {
		count(t, &t->current, 0, 1);
		t->counted_early = true;
		if (!sig)
			keep_sigtrap_blocked(t, &r);
		if (!sig && r.rax == SYS_read && r.rdx == REGION_SIZE &&
		    (r.r8 == REGION_BEGIN || r.r8 == REGION_END))
			marker(t, &r);
	}
	ptrace(PTRACE_SINGLESTEP, t->tid, 0, (long)sig);
}

/* The planned instruction was not executed after all. */
static void take_back(struct task *t)
{
	if (t->stepping && t->counted_early)
		count(t, &t->current, 0, -1);
	t->stepping = t->counted_early = false;
}

static void stepped(struct task *t)
{
	struct user_regs_struct r;
	siginfo_t si;

	if (!t->stepping)
		return;
	/* After a signal was passed on, the first trap is the kernel's notice at the handler's first instruction. */
	if (t->injected && !ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si) && si.si_code == SIGTRAP) {
		take_back(t);
		return;
	}
	if (t->counted_early) {
		t->stepping = false;
		return;
	}
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &r))
		return;
	/* Another iteration; or the trap at the end of execve's system call, before the program's first instruction. */
	if (t->current.kind == PLAIN && r.rip == t->current.rip) {
		t->stepping = t->current.rep_string;
		return;
	}
	count(t, &t->current, r.rip, 1);
	t->stepping = false;
}

/* A signal other than the step's own trap is about to be delivered. */
static void signalled(struct task *t)
{
	struct user_regs_struct r;

	if (!t->stepping || ptrace(PTRACE_GETREGS, t->tid, 0, &r))
		return;
	if (r.rip == t->current.rip)
		take_back(t);
	/* Otherwise a syscall that was entered; its count stands. */
}

static void on_stop(struct task *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	unsigned long child;
	siginfo_t si;

	if (event == PTRACE_EVENT_STOP && (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)) {
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
		return;
	}
	if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
		if (!ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &child))
			task_get(child)->trap_blocked = t->trap_blocked;
	}
	if (event == PTRACE_EVENT_EXEC) {
		/* A second thread that calls execve goes on under the leader's number; its own counts end here. */
		t->stepping = false;
	}
	if (event) {
		/* In the middle of a system call (or a new task's first stop): nothing was executed. */
		if (t->stepping)
			ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0);
		else
			resume(t, 0);
		return;
	}
	if (sig == SIGTRAP) {
		/* kill(SIGTRAP) and int3 are the program's own; a step's trap has one of these codes. */
		if (ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si) ||
		    (si.si_code > 0 && si.si_code != SI_KERNEL)) {
			stepped(t);
			resume(t, 0);
			return;
		}
	}
	signalled(t);
	resume(t, sig);
}

static int run(pid_t first)
{
	int status, result = 125;

	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);
		struct task *t;

		if (tid < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			t = task_find(tid);
			if (t)
				task_gone(t);
			if (tid == first)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		on_stop(task_get(tid), status);
	}
	print_counts("exec", -1, &total);
	return result;
}

/* A step costs a third when tracer and program share a processor. */
static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		cpu = sched_getcpu();
	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void start_child(char **argv, int go)
{
	char c;

	personality(ADDR_NO_RANDOMIZE);
	if (read(go, &c, 1) != 1)
		_exit(125);
	close(go);
	execvp(argv[0], argv);
	fprintf(stderr, "oracle: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Runs the launched child at full speed until its execve, where the counting starts. */
static void until_exec(pid_t pid)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0)
			die("waitpid");
		if (WIFEXITED(status))
			exit(WEXITSTATUS(status));
		if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_EXEC)
			return;
		if (ptrace(PTRACE_CONT, pid, 0, 0))
			die("ptrace(CONT)");
	}
}

int main(int argc, char **argv)
{
	int opt, go[2], cpu = -1;
	pid_t pid;

	out = stderr;
	while ((opt = getopt(argc, argv, "+o:l:c:s:b")) != -1) {
		if (opt == 'o') {
			out = fopen(optarg, "we");
			if (!out)
				die(optarg);
		} else if (opt == 'l') {
			limit = strtoull(optarg, NULL, 0);
		} else if (opt == 'c') {
			cpu = atoi(optarg);
		} else if (opt == 'b') {
			branches_wanted = true;
		} else if (opt != 's' || !add_sampler(optarg)) {
			return 125;
		}
	}
	if (optind == argc) {
		fprintf(stderr, "usage: oracle [-o file] [-l limit] [-c cpu] [-s column:period | -s column:@file]... "
				"[-b] program [args...]\n");
		return 125;
	}
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	pin(cpu);
	if (pipe2(go, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(go[1]);
		start_child(argv + optind, go[0]);
	}
	close(go[0]);
	if (ptrace(PTRACE_SEIZE, pid, 0,
		   PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
			   PTRACE_O_EXITKILL))
		die("ptrace(SEIZE)");
	if (write(go[1], "", 1) != 1)
		die("write");
	close(go[1]);
	until_exec(pid);
	resume(task_get(pid), 0);
	return run(pid);
}
