# What two children of a fork have translated their parent translates before the next fork: later children find it, and
# nothing is different but the time. At an address where they have other code than the parent each runs its own.
source "$ROOT/tests/warm/warm_functions.bash"
CC=${CC:-cc}
cat > forks.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*code)(void); /* the parent's, or a child's, at the same address */

static void write_code(int value, int flags)
{
	unsigned char bytes[] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov $value, %eax; ret */
	void *page = mmap(code, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (page == MAP_FAILED)
		exit(2);
	memcpy(page, bytes, sizeof(bytes));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	code = (int (*)(void))page;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }
static int by_last(const void *a, const void *b) { return ((const char *)a)[7] - ((const char *)b)[7]; }

/* Only children do that. */
static unsigned work(unsigned seed)
{
	static char text[64][16];
	unsigned sum = 0;

	for (int i = 0; i < 64; i++)
		snprintf(text[i], sizeof(text[i]), "%08x", seed = seed * 1664525 + 1013904223);
	qsort(text, 64, sizeof(text[0]), seed & 1 ? by_text : by_last);
	for (int i = 0; i < 64; i++)
		sum = sum * 31 + (unsigned)strtoul(text[i], NULL, 16);
	return sum;
}

static void child(int i)
{
	write_code(100, MAP_FIXED);
	for (int k = 0; k < 3; k++)
		if (code() != 100)
			_exit(1);
	printf("%d %08x\n", i, work((unsigned)i / 3));
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	int status;

	write_code(50, 0);
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (!fork())
			child(i);
		wait(&status);
		if (status || code() != 50)
			return 1;
	}
	return 0;
}
END
$CC -O1 -o forks forks.c || fail "cc"
./forks 20 > natively || fail "natively"

stat_of() { sed -n "s/^ *\([0-9]*\)  $1\$/\1/p" stats | grep . || echo 0; }
counted() { grep -E '^[0-9]+,' counts | cut -d, -f1,3; }

run() { # where the counts go, pcl's options
	"$PCL" "${@:2}" --stats perf stat -o counts -x, -e instructions:u,branches:u ./forks 20 > out 2> stats ||
		fail "${*:2}: $?"
	cmp natively out || fail "${*:2}: other results"
	counted > "$1"
	[ "$(wc -l < "$1")" = 2 ] || fail "${*:2}: not counted"
	blocks=$(stat_of "blocks translated")
	ahead=$(stat_of "blocks that were translated before a fork, since two children had done so")
}
run without --no-cache --no-siblings
[ "$ahead" = 0 ] || fail "--no-siblings: $ahead"
alone=$blocks
run with --no-cache
cmp without with || fail "other counts"
[ "$ahead" -ge 100 ] || fail "only $ahead blocks"
# Of 20 children 2 or 3 translate what is new to all of them.
[ $((alone - blocks)) -ge $((ahead * 10)) ] || fail "$blocks blocks, and $alone without: $ahead each"
for options in --no-links --no-ibl --no-traces --small-cache --dual-map --stress=full --stress=poll; do
	run with --no-cache $options
	cmp without with || fail "$options: other counts"
done
# With an image that another run has made, and one that has it all.
for i in 1 2 3; do
	warm ./forks 20 > out && cmp natively out || fail "warm"
done
# Sampled code polls: an exit leads only to where it may.
cold perf record -q -o data -e instructions:u -c 1009 ./forks 40 > out 2>&1 || fail "perf record: $(cat out)"
head -20 out | cmp natively || fail "perf record: other results"
