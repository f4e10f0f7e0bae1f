# Samples of cycles are the same whether the limit is approached in pieces, by a countdown, or without polls.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export DEBUGINFOD_URLS= PYTHONHASHSEED=0 PERL_HASH_SEED=0
status=0
work='
import json
def tree(n): return 1 if n < 2 else tree(n - 1) + tree(n - 2)
for i in range(20): json.loads(json.dumps([{"a": k, "b": [str(k)] * 3, "c": k / 7} for k in range(200)]))
tree(20)
'
# perf reads the ring, half of which has room for all samples, at the end: a record that is new while it reads may be
# written twice, natively too, since its perf_mmap__push() looks twice where the records end and goes on from the first.
samples() { # a period, options of pcl, --, the program
	local period=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	"$PCL" --stats "${options[@]}" perf record --per-thread -m 256 -q -o data -e cycles:u -c "$period" "$@" \
		> /dev/null 2> err ||
		{ echo "${options[*]} $*: $?" >&2; tail -3 err >&2; status=1; }
	! grep 'limits passed' err >&2 || { echo "${options[*]} $*" >&2; status=1; }
	perf script -i data -F comm,ip 2> /dev/null
}
try() {
	for period in 20011 100003; do
		samples $period -- "$@" > pieces
		grep -q 'pieces of code copied' err || { echo "$*: not approached in pieces"; status=1; }
		[ "$(wc -l < pieces)" -gt 20 ] || { echo "$*: too few samples"; status=1; }
		for option in --no-approach --no-polls --no-spans --no-liveness; do
			samples $period $option -- "$@" > other
			cmp -s pieces other || { echo "$*, $period, $option:"; diff pieces other | head -6; status=1; }
		done
	done
}
try /usr/bin/python3 -P -S -c "$work"
try perl -e 'for $i (1 .. 30000) { $h{$i % 700} .= "x$i"; $n += () = "a$i b$i c" =~ /\w+/g } print $n'
for i in $(seq 60); do
	echo "int f$i(int a, int *b) { int s = a; for (int i = 0; i < a; i++) s = s * $i + b[i] / (a | 1); return s; }"
done > in.c
try "$(gcc -print-prog-name=cc1)" -quiet -O1 -o /dev/null in.c
exit $status
