#!/bin/bash
# pcl flame: widths are what perf report says of the same samples; the picture by itself, in a browser; what it is given
# and refuses.
set -u
status=0
fail() { echo "$*"; status=1; }
export PYTHONHASHSEED=0
picture() { python3 "$ROOT/tests/clients/flame.py" "$@"; }
command -v g++ >/dev/null || { echo "no g++"; exit 77; }
g++ -O2 -g -fomit-frame-pointer -fno-inline -static -pthread -o stacks "$ROOT/tests/clients/stacks.cc" || fail g++
cat >recurse.c <<'END'
__attribute__((noinline)) static unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static unsigned odd(unsigned n);
__attribute__((noinline)) static unsigned even(unsigned n) { return n ? 1 + odd(n - 1) : 0; }
static unsigned odd(unsigned n) { return n ? 1 + even(n - 1) : 0; }
int main(void)
{
	unsigned sum = fib(30);
	for (int i = 0; i < 20000; i++)
		sum += even(60);
	return sum == 1;
}
END
gcc -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -o recurse recurse.c || fail gcc

# One CPU, so that perf's events, which are bound to CPUs, count on where the task goes; and the environment that perf
# gives.
equals_perf()
{
	event=$1 period=$2 samples=$3 tolerance=$4
	shift 4
	timeout -k 5 60 taskset -c 0 "$PCL" --call-stacks perf record -m 1024 --no-bpf-event -q -o data -g \
		-e "$event" -c "$period" -- "$@" >/dev/null 2>err || fail "perf record $*: $(cat err)"
	env -i "${environment[@]}" timeout -k 5 60 taskset -c 0 "$PCL" flame -e "$event" -c "$period" --smallest=0 \
		-o svg -- "$@" >/dev/null 2>err || fail "flame $*: $(cat err)"
	picture check svg 2>err || fail "$*: $(tail -n 1 err)"
	picture compare svg data "$samples" "$tolerance" >out 2>err || fail "$*: $(cat out; tail -n 11 err)"
}
if command -v perf >/dev/null; then
	mapfile -d '' environment < <(timeout -k 5 60 taskset -c 0 "$PCL" perf record --no-bpf-event -q -o data \
		-e instructions:u -- env -0)
	equals_perf instructions:u 1009 10000 0 ./recurse
	equals_perf instructions:u 20011 50 0 ./stacks thread
	# It asks for the time, which takes some instructions more or fewer: then samples are in the neighbouring
	# function, half of them this way, half that.
	python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
	[ "$(id -u)" != 0 ] || equals_perf raw_syscalls:sys_enter 1 300 0 "$python" -c 'sorted(str(i) for i in range(20000))'
	equals_perf instructions:u 10007 3000 0.5 "$python" -c 'sorted(str(i) for i in range(20000))'
fi

# Functions and their callers; children of the program are there too; the same bytes again.
for again in one two; do
	"$PCL" flame -c 10007 -o $again.svg -- sh -c './recurse; ./stacks recursion' || fail "sh: $?"
done
cmp one.svg two.svg || fail "the same run is another picture"
grep -q '<title>recurse: ' one.svg && grep -q '<title>stacks: ' one.svg || fail "no names of tasks"
grep -qE '<title>recursion\(?.* \(/.*/stacks\): [0-9,]+ instructions, [0-9.]+ %</title>' one.svg ||
	fail "no title as expected: $(grep -m 3 title one.svg)"
picture check one.svg || fail "the picture"

# A threaded program: the threads' stacks begin where threads do.
"$PCL" flame -o threads.svg -- ./stacks thread 2>err || fail "threads: $(cat err)"
[ "$(picture share threads.svg start_thread)" = "$(picture share threads.svg in_thread)" ] &&
	[ "$(picture share threads.svg in_thread | cut -d. -f1)" -ge 50 ] || fail "threads"
# Other events: clocks, and what is rare and so has a sample each.
"$PCL" flame -e task-clock -c 50000 -o clock.svg -- ./recurse &&
	[ "$(picture share clock.svg fib | cut -d. -f1)" -ge 50 ] || fail "task-clock"
"$PCL" flame -e syscalls:sys_enter_write -o write.svg -- "$BUILD/tests/count/hello_static" >/dev/null 2>err ||
	fail "tracepoint"
[ "$(picture share write.svg exit)" = 100.00 ] || fail "write is not below exit: $(picture share write.svg exit)"
grep -q '1 in all (exact); 1 samples, one each 1<' write.svg || fail "the note: $(grep -m 1 'in all' write.svg)"

# Names that XML and the script must not trip over: of tasks, and of code that has a map.
cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static const unsigned char code[] = {0xb8, 0, 0x10, 0, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* counts down from 4096 */
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *f;
	memcpy(p, code, sizeof(code));
	snprintf(path, sizeof(path), argc > 1 ? argv[1] : "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	fprintf(f, "%lx %zx LazyCompile:<made> \"up\" & \x01\xff]]>\n", (unsigned long)p, sizeof(code));
	fclose(f);
	printf("%s\n", path);
	prctl(PR_SET_NAME, "<&>\"\xc3");
	for (int i = 0; i < 1000; i++)
		((void (*)(void))p)();
	return 0;
}
END
gcc -O1 -o jit jit.c || fail gcc
map=$("$PCL" flame -o jit.svg -- ./jit) || fail "jit: $?"
[ "$(picture share jit.svg 'LazyCompile:<made> "up" & ??]]>' | cut -d. -f1)" -ge 90 ] ||
	fail "the map of a JIT: $(grep -c . jit.svg) lines"
rm -f "$map"

# A map of an earlier run, of a process with the same number.
"$PCL" flame -o old.svg -- sh -c 'echo "0 7fffffffffff stale" >/tmp/perf-$$.map; echo /tmp/perf-$$.map >old
	touch -d yesterday /tmp/perf-$$.map; exec ./jit /dev/null >/dev/null' || fail "an old map: $?"
grep -q '<title>stale' old.svg && fail "a map of an earlier run is taken for this one's"
rm -f "$(cat old)"

# A map that is none: nobody waits for it.
timeout -k 5 30 "$PCL" flame -o pipe.svg \
	-- sh -c 'mkfifo /tmp/perf-$$.map; echo /tmp/perf-$$.map >fifo; exec ./jit /dev/null >/dev/null' ||
	fail "a pipe for a map: $?"
rm -f "$(cat fifo)"

# Nobody reads for a while: what is lost is said.
"$PCL" flame -c 100 -o lost.svg -- sh -c 'kill -STOP $PPID; ./recurse; kill -CONT $PPID' 2>err || fail "stopped: $?"
grep -qE '^pcl flame: [0-9]+ records found no room and are missing' err && grep -qE '; [0-9]+ records lost<' lost.svg ||
	fail "lost records: $(cat err)"

# The browser: it is drawn, found in and zoomed into.
if command -v chromium >/dev/null; then
	browse() { timeout -k 5 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" \
		"$@" 2>/dev/null; }
	browse --dump-dom "file://$PWD/one.svg#search=^recursion" >dom
	want=$(picture share one.svg recursion)
	said=$(grep -oE 'found \^recursion: [0-9.]+' dom | grep -oE '[0-9.]+$')
	[ "$(printf %.2f "${said:-0}")" = "$want" ] && [ "$want" != 0.00 ] ||
		fail "the browser found '$said', not $want"
	browse --dump-dom "file://$PWD/one.svg#zoom=recurse" >dom
	grep '<title>recurse: ' dom | grep -qE 'x="10.00".* width="1180.00"' ||
		fail "zoomed: $(grep -m 1 '<title>recurse: ' dom)"
	grep '<title>stacks: ' dom | grep -q 'display: none' || fail "what is beside is still there"
	browse --screenshot="$PWD/one.png" --window-size=1240,800 "file://$PWD/one.svg" >/dev/null
	[ "$(stat -c %s one.png)" -gt 10000 ] || fail "no picture"
fi
grep -qE '(href|src)=' one.svg && fail "it needs other files"

# The status is the program's; words for what is wrong.
ends()
{
	want=$1 words=$2
	shift 2
	"$PCL" flame "$@" >out 2>err
	got=$?
	{ [ $got = "$want" ] && { [ -z "$words" ] || grep -qF -- "$words" err; } && [ "$(wc -l <err)" -le 1 ]; } ||
		fail "$*: $got: $(cat err)"
}
ends 7 '' -o a.svg -- sh -c 'exit 7'
ends 125 '--output=FILE must be given' -- true
ends 125 'no program given' -o a.svg
ends 125 'a picture is of one' -o a.svg -e instructions,branches -- true
ends 125 'a picture is of one' -o a.svg -e instructions -e branches -- true
ends 125 '--period takes a number above 0' -o a.svg -c 0 -- true
ends 125 'is in ns, 50000 at least' -o a.svg -e task-clock -c 1009 -- true
ends 125 '--smallest takes a percentage' -o a.svg --smallest=100.1 -- true
for wrong in x '' % -0 -1 +1 ' 1' nan inf 0x1p3 1e400 1%%; do
	ends 125 "wrong option --smallest=$wrong: the form is --smallest=PERCENT, a number from 0" \
		-o a.svg "--smallest=$wrong" -- true
done
ends 125 'no event is called' -o a.svg -e no-such -- true
ends 125 'No such file or directory' -o /nowhere/a.svg -- true
ends 127 'no-such-program' -o a.svg -- no-such-program
echo old >kept.svg
ends 127 'no-such-program' -o kept.svg -- no-such-program
[ "$(cat kept.svg)" = old ] || fail "what was in the file is gone, and nothing is there for it"
ends 0 'no sample' -o a.svg -c 1000000000 -- true
ends 125 'No space left' -o /dev/full -- ./recurse
"$PCL" flame -o - -- true >out || fail "standard output: $?"
[ "$(head -n 1 out)" = '<?xml version="1.0" encoding="UTF-8"?>' ] || fail "standard output"
exit $status
