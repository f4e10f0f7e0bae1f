#!/bin/sh
# make demo: the main job, natively and under pcl, with a word on what is seen. $1: the build directory.
set -u
build=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say()
{
	printf '\n%s\n' "$*" | fold -s -w 100
}

# Runs a line of shell, indented, after showing it. Sets $status.
run()
{
	printf '\n  $ %s\n' "$1"
	sh -c "$1" >"$work/out" 2>&1
	status=$?
	sed 's/^/  | /' "$work/out"
}

expect_success()
{
	if [ "$status" != 0 ]; then
		echo "demo: that should have worked (status $status)" >&2
		failed=1
	fi
}

say "1. Did a change make this program do more work? pcl counts it, without perf and without hardware counters:"
run "./pcl count -e instructions,branches,cycles -- $build/demo/lookup 4096"
expect_success
say "\"exact\" means that every instruction was counted, none estimated. So the numbers are the same in the next run, \
on a busy machine too. They can be kept in a file, and compared from then on:"
check="./pcl --pin check --by-function --baseline $work/counts.json --name lookup"
run "$check --update -- $build/demo/lookup 4096"
expect_success
run "$check -- $build/demo/lookup 4096"
expect_success
say "Now a change that makes the program slower, though it prints the same: a smaller hash table."
run "$check -- $build/demo/lookup 1024"
if [ "$status" = 120 ] && grep -q ' find ' "$work/out"; then
	say "pcl check ends with status 120, so that a build fails here, and says that find() does more."
else
	say "pcl check should have found the regression, and did not."
	failed=1
fi

say "2. The unmodified perf tool on a real program: xz compressing two megabytes."
tar cf - rt isa dbt event os /usr/include 2>/dev/null | head -c 2000000 >"$work/data"
run "perf stat -e instructions:u,branches:u -- xz -6kc $work/data >/dev/null"
say "Where the machine offers no counters perf says <not supported>, or that it may not open events at all. The same \
command under pcl, twice:"
for i in 1 2; do
	run "./pcl perf stat -e instructions:u,branches:u -- xz -6kc $work/data >/dev/null"
	expect_success
	sed -n 's/^ *\([0-9,]*\) *\(instructions\|branches\).*/\2 \1/p' "$work/out" >"$work/counts$i"
done
if [ -s "$work/counts1" ] && cmp -s "$work/counts1" "$work/counts2"; then
	say "Both runs counted the same to the unit: every instruction was counted, none estimated."
else
	say "The two runs should have counted the same, and did not."
	failed=1
fi

say "3. Where does a program spend its instructions? perf record takes a sample every so many of them."
run "perf record -q -F 4000 -e instructions:u -o $work/native.data -- python3 demo/words.py"
case $status in
0) say "This kernel has counters to sample with. Under pcl a sample is exactly the instruction at which the count was \
reached:" ;;
*) say "Without counters only time can be sampled. Under pcl a sample is exactly the instruction at which the count \
was reached:" ;;
esac
run "./pcl perf record -q -F 4000 -e instructions:u -o $work/perf.data -- python3 demo/words.py"
expect_success
run "perf report -i $work/perf.data --stdio 2>/dev/null | sed '/^#/d; /^$/d' | head -8"
if ! grep -q '%.*python' "$work/out"; then
	say "The profile should have shown functions of python, and did not."
	failed=1
fi
say "perf report, annotate and script read such recordings anywhere. Call graphs (-g), branch stacks (-b) and data \
addresses (-d) are recorded in the same way."
say "4. A program that counts the instructions of its own printf with perf_event_open(2)."
run "$build/demo/printf_count"
case $status in
0) say "This kernel has hardware counters, so it works natively too. Under pcl the numbers do not vary from run to \
run:" ;;
*) say "The kernel here has no hardware counter to offer and refuses. Under pcl the same program gets its event:" ;;
esac
run "./pcl $build/demo/printf_count"
expect_success
say "The first printf is dearer: it also makes the output buffer and, in a dynamic program, resolves symbols. The last \
line is the cost of the two ioctl calls around it."

say "pcl doctor says what pcl finds on a machine, pcl --help what else there is; README.md goes on from here."
exit $failed
