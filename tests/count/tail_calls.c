/* Tail calls, direct and through a pointer: jumps between functions with no call. */
#include <stdio.h>

struct machine;
typedef unsigned state(struct machine *m, unsigned x);
struct machine {
	state *next[3];
	int left;
};

static unsigned s0(struct machine *m, unsigned x);
static unsigned s1(struct machine *m, unsigned x);

static __attribute__((noinline)) unsigned finish(struct machine *m, unsigned x)
{
	return x ^ m->left;
}

static __attribute__((noinline)) unsigned s0(struct machine *m, unsigned x)
{
	if (!--m->left)
		return finish(m, x);
	return m->next[x % 2](m, x * 1103515245 + 12345);
}

static __attribute__((noinline)) unsigned s1(struct machine *m, unsigned x)
{
	if (!--m->left)
		return finish(m, x + 1);
	return x & 4 ? s0(m, x >> 1) : m->next[x % 2](m, x + 77);
}

static __attribute__((noinline)) int even(unsigned n);
static __attribute__((noinline)) int odd(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	return n ? even(n - 1) : 0;
}
static int even(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	return n ? odd(n - 1) : 1;
}

int main(void)
{
	struct machine m = { { s0, s1, s0 }, 3000 };

	printf("%u %d\n", s0(&m, 5), even(2001));
	return 0;
}
