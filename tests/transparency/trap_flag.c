/*
 * The trap flag, set by popf, by iret and in a signal handler's frame: which instructions trap, with what in the
 * siginfo and in the flags, across calls, system calls, instructions that pcl does itself, and faults.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100
#define RF 0x10000
#define MAX 200

extern char code_start[];

static struct {
	long at;
	int code, trap_no;
	long flags, addr;
} seen[MAX];
static volatile int n, faults, set_by_handler, stop_at;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (n < MAX) {
		seen[n].at = (char *)g[REG_RIP] - code_start;
		if (seen[n].at < -0x10000 || seen[n].at > 0x10000) /* in the C library */
			seen[n].at = g[REG_RIP] % 4096;
		seen[n].code = info->si_code;
		seen[n].trap_no = (int)g[REG_TRAPNO];
		seen[n].flags = g[REG_EFL] & (TF | RF);
		seen[n].addr = info->si_addr ? (char *)info->si_addr - (char *)g[REG_RIP] : -1;
	}
	n++;
	if (stop_at && n == stop_at)
		g[REG_EFL] &= ~TF;
}

/* Steps over the two bytes of the load. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	faults++;
	printf("fault %d: flags %llx\n", signo, g[REG_EFL] & TF);
	g[REG_RIP] += 2;
}

static void on_usr(int signo, siginfo_t *info, void *context)
{
	if (set_by_handler)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TF;
	__asm__ volatile("nop; nop");
}

static void show(const char *what)
{
	printf("%s: %d traps, %d faults\n", what, n, faults);
	for (int i = 0; i < n && i < MAX; i++)
		printf(" %ld code %d trap %d flags %lx addr %ld\n", seen[i].at, seen[i].code, seen[i].trap_no,
		       seen[i].flags, seen[i].addr);
	n = faults = 0;
}

#define TRACED(text, code, ...)                                                                                        \
	do {                                                                                                           \
		__asm__ volatile("mov %%rsp, %%r15; lea -256(%%rsp), %%rsp; pushfq; orl $0x100, (%%rsp); popfq; " code \
				 "pushfq; andl $~0x100, (%%rsp); popfq; nop; nop; mov %%r15, %%rsp" ::__VA_ARGS__      \
				 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r15", "cc",    \
				   "memory");                                                                          \
		show(text);                                                                                            \
	} while (0)

__asm__(".globl code_start\ncode_start:\n");

static void catch(int signo, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	sigaction(signo, &act, NULL);
}

int main(void)
{
	static char buffer[64];
	void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	setvbuf(stdout, NULL, _IONBF, 0);
	catch(SIGTRAP, on_trap);
	catch(SIGSEGV, on_fault);
	catch(SIGUSR1, on_usr);
	TRACED("plain", "mov $3, %%ecx; 1: dec %%ecx; jnz 1b; ");
	TRACED("branches", "call 1f; jmp 2f; 1: ret; "
			   "2: lea 3f(%%rip), %%rax; jmp *%%rax; nop; 3: lea 1b(%%rip), %%rax; call *%%rax; ");
	TRACED("stack", "push %%rax; pushfq; pop %%rax; mov %%rax, %%r11; pop %%rdx; pushfw; popw %%ax; ");
	TRACED("system call", "mov $39, %%eax; syscall; nop; mov $39, %%eax; syscall; mov %%r11, %%rdx; ");
	TRACED("emulated", "xor %%eax, %%eax; cpuid; xor %%ecx, %%ecx; xgetbv; rdtsc; ");
	TRACED("fault", "mov %0, %%rax; mov (%%rax), %%al; nop; ", "r"(nothing));
	TRACED("breakpoint", "nop; int3; nop; ");
	TRACED("stolen register", "mov %0, %%r11; mov $1, %%eax; add %%rax, %%r11; mov %%r11, (%0); xadd %%r11, (%0); ",
	       "r"(buffer));
	TRACED("iret",
	       "mov %%ss, %%eax; push %%rax; lea 8(%%rsp), %%rax; push %%rax; pushfq; mov %%cs, %%eax; push %%rax; "
	       "lea 1f(%%rip), %%rax; push %%rax; iretq; ud2; 1: nop; ");
	TRACED("lret", "mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax; lretq; ud2; 1: nop; ");
	TRACED("word", "pushfw; popfw; nop; pushfw; andw $~0x100, (%%rsp); popfw; nop; nop; ");
	/* iret sets it, and a handler's return; a handler takes it away. */
	stop_at = 5;
	__asm__ volatile("mov %%rsp, %%r15; lea -256(%%rsp), %%rsp; mov %%ss, %%eax; push %%rax; "
			 "lea 8(%%rsp), %%rax; push %%rax; pushfq; orl $0x100, (%%rsp); "
			 "mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax; iretq; ud2; "
			 "1: nop; nop; nop; nop; nop; nop; nop; nop; mov %%r15, %%rsp" ::
				 : "rax", "r15", "cc", "memory");
	show("set by iret");
	set_by_handler = 1;
	raise(SIGUSR1);
	show("set by a handler");
	set_by_handler = stop_at = 0;
	/* Another signal in between: its handler is not traced, what follows is. */
	TRACED("signal",
	       "mov $39, %%eax; syscall; mov %%eax, %%edi; mov $10, %%esi; mov $62, %%eax; syscall; nop; nop; ");
	return 0;
}
