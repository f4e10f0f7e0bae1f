/*
 * Asynchronous signals in tight code: the context that the handler sees is at an instruction boundary of the program,
 * with exactly the registers that belong to that boundary; what the handler changes there takes effect.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

extern const char loop_start[], after_inc[], after_add[], after_lea[], after_push[], after_pop[], after_call[],
	in_call[], loop_end[];
static volatile int seen, bad;
static volatile long bad_rip;

static void on_signal(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	const char *rip = (const char *)g[REG_RIP];
	unsigned long n = g[REG_R12], r11 = g[REG_R11], r14 = g[REG_R14], sp = g[REG_R13] - g[REG_RSP];
	int ok;

	if (rip < loop_start || rip >= loop_end)
		return;
	seen++;
	/* The loop: inc r12; add $3, r11; lea 5(r14), r14; push r11; pop rcx; call in_call; jmp */
	if (rip == loop_start)
		ok = r11 == 3 * n && r14 == 5 * n && sp == 0;
	else if (rip == after_inc)
		ok = r11 == 3 * (n - 1) && r14 == 5 * (n - 1) && sp == 0;
	else if (rip == after_add)
		ok = r11 == 3 * n && r14 == 5 * (n - 1) && sp == 0;
	else if (rip == after_lea || rip == after_pop || rip == after_call)
		ok = r11 == 3 * n && r14 == 5 * n && sp == 0;
	else if (rip == after_push)
		ok = r11 == 3 * n && r14 == 5 * n && sp == 8 && *(unsigned long *)g[REG_RSP] == r11;
	else if (rip == in_call)
		ok = r11 == 3 * n && r14 == 5 * n && sp == 8 && *(const char **)g[REG_RSP] == after_call;
	else
		ok = 0;
	if (!ok) {
		bad++;
		bad_rip = rip - loop_start;
	}
	if (seen >= 400)
		g[REG_RBX] = 1;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct itimerval every = { { 0, 100 }, { 0, 100 } };

	sigaction(SIGALRM, &sa, NULL);
	alarm(0);
	setitimer(ITIMER_REAL, &every, NULL);
	__asm__ volatile("sub $256, %%rsp\n\txor %%r12d, %%r12d\n\txor %%r14d, %%r14d\n\txor %%r11d, %%r11d\n\txor "
			 "%%ebx, %%ebx\n\t"
			 "mov %%rsp, %%r13\n"
			 "loop_start: inc %%r12\n"
			 "after_inc: add $3, %%r11\n"
			 "after_add: lea 5(%%r14), %%r14\n"
			 "after_lea: push %%r11\n"
			 "after_push: pop %%rcx\n"
			 "after_pop: call in_call\n"
			 "after_call: jmp 1f\n"
			 "in_call: ret\n"
			 "loop_end:\n"
			 "1: test %%ebx, %%ebx\n\tjz loop_start\n\tadd $256, %%rsp"
			 :
			 :
			 : "rbx", "rcx", "r12", "r13", "r11", "r14", "memory", "cc");
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
	if (bad)
		printf("%d of %d contexts were wrong, the last one at +%ld\n", bad, seen, bad_rip);
	return bad || !seen;
}
