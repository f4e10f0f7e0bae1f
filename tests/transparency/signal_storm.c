/*
 * A timer signal every 200 us into code whose results show whether anything was disturbed: flags, pushf (a debugger's
 * or translator's trap flag must not show), string instructions, the red zone, divisions, code that changes, calls that
 * restart.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100
#define BUFFER (1 << 20)
#define PIPED 3000000

static volatile long ticks, traps;
static char *from, *to;

static void tick(int sig, siginfo_t *si, void *context)
{
	ticks++;
	traps += (((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG) != 0;
}

static void timer(long us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &it, NULL);
}

static long flags(void)
{
	long wrong = 0, f;

	for (int i = 0; i < 1000000; i++) {
		__asm__ volatile("pushf; pop %0" : "=r"(f)::"memory");
		wrong += (f & TRAP_FLAG) != 0;
		__asm__ volatile("push %0; popf; pushf; pop %0" : "+r"(f)::"memory", "cc");
		wrong += (f & TRAP_FLAG) != 0;
		__asm__ volatile("stc; nop; nop; nop; setc %b0; movzbl %b0, %k0" : "=q"(f)::"cc");
		wrong += f != 1;
	}
	return wrong;
}

static long strings(void)
{
	long wrong = 0;

	for (int i = 0; i < 100; i++) {
		void *d = to;
		const void *s = from;
		long n = BUFFER;

		memset(to, 0, BUFFER);
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
		wrong += n || d != to + BUFFER || memcmp(from, to, BUFFER);
	}
	return wrong;
}

static long pipes(void)
{
	long left = PIPED, n, total = 0;
	char buffer[777];
	int p[2], status;
	pid_t pid;

	if (pipe(p))
		return 1;
	pid = fork();
	if (!pid) {
		close(p[1]);
		timer(300);
		while ((n = read(p[0], buffer, sizeof(buffer))) > 0)
			total += n;
		_exit(total != PIPED);
	}
	close(p[0]);
	while (left > 0 && (n = write(p[1], from, left > 5000 ? 5000 : left)) > 0)
		left -= n;
	close(p[1]);
	waitpid(pid, &status, 0);
	return left + status;
}

/* Code that is written by stores, by the kernel, and by the instruction before it. */
static long changing_code(void)
{
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char mov_ret[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	/* mov %dil, 1(%rip); mov $0, %eax; ret */
	static const unsigned char next[] = { 0x40, 0x88, 0x3d, 1, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0xc3 };
	long wrong = 0;
	int p[2];

	if (pipe(p))
		return 1;
	memcpy(page + 64, next, sizeof(next));
	for (int i = 0; i < 2000; i++) {
		memcpy(mov_ret + 1, &i, 4);
		memcpy(page, mov_ret, sizeof(mov_ret));
		wrong += ((int (*)(void))page)() != i;
		mov_ret[2] ^= 0x55;
		wrong += write(p[1], mov_ret, sizeof(mov_ret)) != sizeof(mov_ret) ||
			 read(p[0], page, sizeof(mov_ret)) != sizeof(mov_ret);
		wrong += ((int (*)(void))page)() != (i ^ 0x5500);
		wrong += ((int (*)(int))(page + 64))(i & 255) != (i & 255);
	}
	return wrong;
}

static long red_zone(void)
{
	long wrong = 0, v;

	for (int i = 0; i < 5000000; i++) {
		__asm__ volatile("movq $1234, -8(%%rsp); movq $77, -120(%%rsp); nop; nop; nop; mov -8(%%rsp), %0; add "
				 "-120(%%rsp), %0"
				 : "=r"(v)::"memory", "cc");
		wrong += v != 1311;
	}
	return wrong;
}

static long divisions(void)
{
	long wrong = 0;

	for (unsigned i = 1; i < 2000000; i++)
		wrong += 123456789u / i * i + 123456789u % i != 123456789u;
	return wrong;
}

static long sleeping(void)
{
	struct timespec t = { 0, 100000000 };

	while (nanosleep(&t, &t) < 0)
		if (errno != EINTR)
			return 1;
	return 0;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART };

	from = malloc(BUFFER);
	to = malloc(BUFFER);
	for (int i = 0; i < BUFFER; i++)
		from[i] = (char)(i * 7);
	sigaction(SIGALRM, &sa, NULL);
	timer(200);
	printf("flags %ld\n", flags());
	printf("strings %ld\n", strings());
	printf("pipes %ld\n", pipes());
	printf("changing code %ld\n", changing_code());
	printf("red zone %ld\n", red_zone());
	printf("divisions %ld\n", divisions());
	printf("sleeping %ld\n", sleeping());
	timer(0);
	printf("signals came %d, trap flag seen %ld\n", ticks > 100, traps);
	return 0;
}
