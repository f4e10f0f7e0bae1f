/* Library code that calls back: qsort, bsearch, lfind, tree search, atexit. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

static int compare(const void *a, const void *b)
{
	calls++;
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void last(void)
{
	puts("last");
}

int main(void)
{
	int v[200], key = 0;
	unsigned x = 1;
	void *root = NULL;

	atexit(last);
	for (int i = 0; i < 200; i++) {
		x = x * 1664525 + 1013904223;
		v[i] = x >> 20;
	}
	for (int i = 0; i < 100; i++)
		tsearch(v + i, &root, compare);
	qsort(v, 200, sizeof(v[0]), compare);
	for (int i = 0; i < 50; i++) {
		key = i * 80;
		x += bsearch(&key, v, 200, sizeof(v[0]), compare) != NULL;
	}
	printf("%d %d %d %u\n", v[0], v[199], calls, x);
	return 0;
}
