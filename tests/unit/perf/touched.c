/* The pages of an instruction's accesses, in order: against a walk over each byte. */
#include <stdlib.h>
#include "perf/touched.c"
#include "tests/unit/unit.h"

#define BASE   0x700000000000ul
#define PAGES  64
#define ROUNDS 20000

static bool seen[2][PAGES];

/* The next page that is new to its access; false: none. */
static bool walk(const struct isa_access *access, int n, u64 rounds, u64 *from, struct touch *out)
{
	for (; *from < rounds; ++*from)
		for (int i = 0; i < n; i++) {
			gva at = access[i].addr + (u64)access[i].step * *from;

			for (u32 b = 0; *from < access[i].count && b < access[i].size; b++) {
				bool *p = &seen[i][(at + b - BASE) / PAGE_SIZE];

				if (*p)
					continue;
				*p = true;
				*out = (struct touch){at + b, *from, access[i].write, false};
				return true;
			}
		}
	return false;
}

static struct isa_access any(u64 count)
{
	static const u32 sizes[] = {1, 2, 4, 8};
	struct isa_access a = {.count = count, .size = sizes[rand() % 4], .write = rand() & 1};

	a.step = rand() & 1 ? (s32)a.size : -(s32)a.size;
	a.addr = BASE + PAGES / 2 * PAGE_SIZE + (u64)(rand() % (4 * (int)PAGE_SIZE));
	if (count == 1 && rand() & 1) {
		a.step = 0;
		a.size = 64 + (u32)(rand() % 2) * 8000;
	}
	return a;
}

/* An element that crosses a page, going down, has its upper page first here, its lower one there: those are aligned. */
static void align(struct isa_access *a)
{
	if (a->step < 0)
		a->addr &= ~(u64)(a->size - 1);
}

static void compare(void)
{
	u64 count = rand() % 4 ? (u64)(rand() % 9000) : 1, limit = rand() % 4 ? ~0ul : (u64)(rand() % 9000), from = 0;
	struct isa_access access[2] = {any(count), any(count)};
	int n = 1 + rand() % 2;
	struct touches w = touches_of(access, n, limit);
	struct touch got, want;

	align(&access[0]), align(&access[1]);
	memset(seen, 0, sizeof(seen));
	while (walk(access, n, MIN(count, limit), &from, &want)) {
		expect(touches_next(&w, &got));
		expect_long(got.addr, want.addr);
		expect_long(got.round, want.round);
		expect_long(got.write, want.write);
	}
	expect(!touches_next(&w, &got));
}

int main(void)
{
	srand(1);
	for (int i = 0; i < ROUNDS / 20; i++)
		compare();
	return unit_result();
}
