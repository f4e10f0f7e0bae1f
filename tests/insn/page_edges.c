/*
 * Code at the edges of pages: an instruction across two pages, code that ends where the mapping ends, code that runs
 * over the end (the fault is at the first unmapped byte), a jump into the middle of an instruction, all offsets in a
 * page.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf env;
static unsigned char *fault_at, *fault_rip;
static int failed;

static void on_fault(int sig, siginfo_t *si, void *context)
{
	fault_at = si->si_addr;
	fault_rip = (unsigned char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	siglongjmp(env, sig);
}

static void expect(const char *what, long expected, long seen)
{
	if (expected == seen)
		return;
	printf("%s: %lx, not %lx\n", what, seen, expected);
	failed = 1;
}

typedef int function(void);

static const unsigned char body[] = {
	0xb8, 0x44, 0x33, 0x22, 0x11, /* mov $0x11223344, %eax */
	0x05, 0x01, 0x00, 0x00, 0x00, /* add $1, %eax */
	0xc3,			      /* ret */
};

int main(void)
{
	unsigned char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	int sig;

	if (p == MAP_FAILED)
		return 77;
	munmap(p + 2 * 4096, 4096);
	sigaction(SIGSEGV, &sa, NULL);
	for (int at = 4096 - 16; at <= 4096; at++) {
		memcpy(p + at, body, sizeof(body));
		expect("across two pages", 0x11223345, ((function *)(p + at))());
		memset(p + at, 0xcc, sizeof(body));
	}
	memcpy(p + 8192 - sizeof(body), body, sizeof(body));
	expect("at the end", 0x11223345, ((function *)(p + 8192 - sizeof(body)))());
	p[8191] = 0xc3;
	((void (*)(void))(p + 8191))();
	/* nops up to the end: the fault is at the next page */
	memset(p + 8192 - 8, 0x90, 8);
	sig = sigsetjmp(env, 1);
	if (!sig)
		((function *)(p + 8192 - 8))();
	expect("signal", SIGSEGV, sig);
	expect("fault address", (long)(p + 8192), (long)fault_at);
	expect("fault rip", (long)(p + 8192), (long)fault_rip);
	/* an instruction of which only a part is mapped: rip is at its start, the address at the missing byte */
	memcpy(p + 8192 - 3, body, 3);
	sig = sigsetjmp(env, 1);
	if (!sig)
		((function *)(p + 8192 - 3))();
	expect("signal", SIGSEGV, sig);
	expect("fault address of a half instruction", (long)(p + 8192), (long)fault_at);
	expect("fault rip of a half instruction", (long)(p + 8192 - 3), (long)fault_rip);
	/* no permission to execute */
	mprotect(p, 4096, PROT_READ);
	sig = sigsetjmp(env, 1);
	if (!sig)
		((function *)p)();
	expect("signal", SIGSEGV, sig);
	expect("address not executable", (long)p, (long)fault_at);
	mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	/* overlapping instructions: mov $0x9090c3XX from its second byte on is ...; ret */
	static const unsigned char overlap[] = { 0xb8, 0x31, 0xc0, 0xc3, 0x90, 0xc3 };

	memcpy(p, overlap, sizeof(overlap));
	expect("whole", (int)0x90c3c031, ((function *)p)());
	expect("from the second byte", 0, ((function *)(p + 1))());
	expect("whole again", (int)0x90c3c031, ((function *)p)());
	return failed;
}
