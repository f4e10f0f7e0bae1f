/* setjmp and longjmp out of deep calls and out of a handler. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static jmp_buf env;
static sigjmp_buf signal_env;

static __attribute__((noinline)) int down(int n)
{
	if (!n)
		longjmp(env, 7);
	return n > 0 ? n + down(n - 1) : 0;
}

static void on_signal(int sig)
{
	siglongjmp(signal_env, sig);
}

int main(void)
{
	volatile int sum = 0;

	for (volatile int i = 0; i < 100; i++) {
		int r = setjmp(env);

		if (!r)
			down(i % 17);
		sum += r;
	}
	signal(SIGUSR1, on_signal);
	for (volatile int i = 0; i < 50; i++) {
		int r = sigsetjmp(signal_env, 1);

		if (!r)
			raise(SIGUSR1);
		sum += r;
	}
	printf("%d\n", sum);
	return 0;
}
