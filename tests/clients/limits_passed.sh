# No sampling event passes its limit unseen, whatever code it comes about in: recursion, returns without calls, signals,
# an interpreter. --no-polls counts down all the way to it, and copies no pieces.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export DEBUGINFOD_URLS=
status=0
work='
import json, re
def depth(n): return n and 1 + depth(n - 1)
def tree(n): return 1 if n < 2 else tree(n - 1) + tree(n - 2)
for i in range(60):
	depth(900)
	json.loads(json.dumps([{"a": k, "b": [str(k)] * 3} for k in range(300)]))
	re.sub("(a|b)+c", lambda m: m.group(0)[::-1], "abababc" * 300)
tree(22)
'
try() { # arguments of perf record, then the program
	"$PCL" --stats perf record -q -o data "$@" > /dev/null 2> err || { echo "$*: $?"; tail -3 err; status=1; }
	grep -q 'limits reached' err || { echo "$*: no limit was reached"; status=1; }
	! grep 'passed' err || { echo "$*"; status=1; }
}
for how in "-F 20000" "-c 20011" "-c 100003"; do
	for event in instructions:u cycles:u branches:u; do
		try $how -e $event python3 -c "$work"
	done
done
for program in exceptions longjmp stack_switch signal_nested recursion; do
	try -F 20000 -e instructions:u "$BUILD/tests/count/$program"
	try -c 5003 -e instructions:u "$BUILD/tests/count/$program"
done
# Besides, what cannot be counted by the words that polls add to is counted otherwise.
for events in cpu/instructions,period=5003/u '{cpu/instructions,period=5003/u,cpu/mem_loads/u}:S'; do
	"$PCL" perf record -q -o data -e "$events" "$BUILD/tests/count/recursion" > /dev/null 2> err || { cat err; status=1; }
	perf script -i data -F comm,event 2> err | grep -c instructions >> samples
done
# How long the start of a program takes may differ by a sample.
read -rd '' alone besides < samples
apart=$((alone - besides))
[ "$alone" -gt 10 ] && [ ${apart#-} -le 1 ] || { echo "alone $alone, with loads $besides"; status=1; }
"$PCL" --no-polls --stats perf record -q -o data -e instructions:u -c 1000003 python3 -c pass > /dev/null 2> err ||
	status=1
grep 'pieces of code copied' err && { echo "--no-polls: approached in pieces"; status=1; }
exit $status
