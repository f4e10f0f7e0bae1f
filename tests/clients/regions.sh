#!/bin/bash
# Regions: only what is between pcl_region_begin() and pcl_region_end() is counted, to the unit, in threads too; without
# --regions, and natively, the
# functions do nothing. The header compiles without a warning as C and C++.
set -u
status=0
fail() { echo "$*"; status=1; }
cat >work.c <<'END'
#include <errno.h>
#include <pcl/session.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void rounds(long n) { __asm__ volatile("1: dec %0; jnz 1b" : "+r"(n)); }
static void *thread(void *n) { rounds(*(long *)n); return NULL; }
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	errno = 7;
	rounds(50000);
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		if (n)
			pcl_region_begin();
		if (argc > 2 && (pthread_create(&t, NULL, thread, &n) || pthread_join(t, NULL)))
			return 1;
		rounds(n + 1);
		pcl_region_end();
		rounds(30000);
	}
	printf("%d %d\n", pcl_is_here(), errno);
	return 0;
}
END
flags="-O1 -Wall -Wextra -Werror -pedantic -I$ROOT/include"
# shellcheck disable=SC2086 # a list of words
gcc $flags -pthread -o work work.c && g++ $flags -x c++ -fsyntax-only "$ROOT/include/pcl/session.h" || exit 1
[ "$(./work 5)" = "0 7" ] || fail "natively: $(./work 5)"
[ "$("$PCL" ./work 5)" = "1 7" ] || fail "under pcl: $("$PCL" ./work 5)"

# instructions OPTION... -- PROGRAM...: of pcl count.
instructions() { "$PCL" "$@" >/dev/null && awk -F, '$1 == "instructions" { print $5 }' csv; }
count() { instructions --regions count --csv -o csv -e instructions,branches -- ./work "$@"; }
a=$(count 1000) b=$(count 2000)
[ $((b - a)) = 4000 ] || fail "2 times 1000 more rounds of 2 instructions: $((b - a))"
[ "$a" -lt 5000 ] || fail "more than the regions: $a"
a=$(count 100000 t) b=$(count 200000 t) # to join a thread takes some instructions more if it has not ended yet
((b - a > 799000 && b - a < 801000)) || fail "with threads: $((b - a))"
[ "$(instructions count --csv -o csv -e instructions -- ./work 1000)" -gt 220000 ] ||
	fail "without --regions: $(cat csv)"
"$PCL" --regions count -e instructions -- ./work 2>said >/dev/null
grep -q 'never counted: no region began' said || { fail "without a region:"; cat said; }
"$PCL" --regions count --per-thread -e instructions -- ./work 2>said >/dev/null && grep -q 'no region began' said ||
	{ fail "--per-thread without a region:"; cat said; }
"$PCL" --regions check -b base.json -u -- ./work >/dev/null 2>said
[ $? = 125 ] && grep -q 'was never counted: no region began' said && [ ! -e base.json ] ||
	{ fail "check without a region:"; cat said; }
check() { "$PCL" --regions check -b base.json -n w "$@" >/dev/null 2>said; }
check -u -- ./work 1000 || fail "check --update: $(cat said)"
check -t 0 -- ./work 1000 || fail "check: $(cat said)"
check -- ./work 2000
[ $? = 120 ] || fail "check, more work: $(cat said)"
for command in 'count --by-function' 'flame -o x.svg' 'check -b base.json --by-function'; do
	# shellcheck disable=SC2086 # a list of words
	"$PCL" --regions $command -- ./work 1000 >/dev/null 2>said
	[ $? = 125 ] && grep -q 'not of --regions' said || fail "$command: $(cat said)"
done
# Tasks have their names, and those that are left are known, though nothing is counted when they begin.
for form in --per-thread --per-process; do
	"$PCL" --regions count $form --csv -o csv -e instructions -- ./work 1000 >/dev/null &&
		awk -F, '/^pid/ { on = 1; next } on { names = names $3 " " } END { exit names != "work " }' csv ||
		{ fail "names, $form:"; cat csv; }
done
"$PCL" --regions count -e instructions -- sh -c './work 1000; sleep 2 >/dev/null 2>&1 &' 2>said >/dev/null
grep -q '^ 1 task went on' said || { fail "a task that went on:"; cat said; }
if command -v perf >/dev/null; then
	perf() { "$PCL" --regions perf stat -x, -o csv -D -1 -e instructions:u -- ./work "$1" >/dev/null 2>&1 &&
		awk -F, '/instructions/ { print $1 }' csv; }
	a=$(perf 1000) b=$(perf 2000)
	[ $((b - a)) = 4000 ] || fail "perf stat -D -1: $((b - a))"
fi
exit $status
