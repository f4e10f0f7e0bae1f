# What runs in a pid namespace of its own is counted from outside and from inside, to the unit.
command -v bwrap > /dev/null || { echo "no bwrap"; exit 77; }
command -v perf > /dev/null || { echo "no perf"; exit 77; }
sandbox="bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev"
$sandbox true 2> /dev/null || { echo "the host does not let bwrap make namespaces"; exit 77; }
status=0
fail() { echo "$*"; status=1; }
small=$BUILD/tests/count/hello_static large=$BUILD/tests/count/threads_total
numbers() { awk -F, '$1 ~ /^[0-9]+$/ { print $1 }' "$1" | tr '\n' ' '; }
# Inside: perf stat there counts what it counts without a sandbox.
for program in "$small" "$large"; do
	"$PCL" perf stat -x, -o outside.csv -e instructions:u,branches:u -- "$program" > /dev/null || fail "outside: $?"
	"$PCL" $sandbox --bind "$PWD" "$PWD" perf stat -x, -o inside.csv -e instructions:u,branches:u \
		-- "$program" > /dev/null || fail "inside: $?"
	[ "$(numbers outside.csv)" = "$(numbers inside.csv)" ] && [ -n "$(numbers inside.csv)" ] ||
		{ fail "$program"; cat outside.csv inside.csv; }
done
# Outside: what the sandboxed program executes is part of it. bwrap's own is the same for both, but for how it copies
# their names.
counted() { "$PCL" perf stat -x, -o total.csv -e instructions:u -- $sandbox "$1" > /dev/null ||
	fail "around $1: $?"; numbers total.csv; }
alone() { "$PCL" perf stat -x, -o alone.csv -e instructions:u -- "$1" > /dev/null || fail "$1: $?"; numbers alone.csv; }
ln -s "$small" program_a; ln -s "$large" program_b
difference=$(($(counted "$PWD/program_b") - $(counted "$PWD/program_a") -
	$(alone "$PWD/program_b") + $(alone "$PWD/program_a")))
[ ${difference#-} -lt 20000 ] || fail "off by $difference"
# Records: numbers of the namespace in which perf runs.
"$PCL" $sandbox --bind "$PWD" "$PWD" perf record -q -o inside.data -e instructions:u -c 10007 \
	-- "$large" > /dev/null 2> err || fail "record inside: $(cat err)"
"$PCL" perf script -i inside.data -F pid 2> err | sort -n | uniq -c > pids
awk '$2 < 1 || $2 > 20 { exit 1 } END { exit !NR }' pids || { fail "pids inside"; cat pids err; }
"$PCL" perf record -q -o outside.data -e instructions:u -c 10007 -- $sandbox "$large" > /dev/null 2> err ||
	fail "record outside: $(cat err)"
"$PCL" perf script -i outside.data -F pid 2> err | sort -n | uniq -c > pids
awk '$2 < 1 { exit 1 } END { exit NR < 2 }' pids || { fail "pids outside"; cat pids err; }
"$PCL" perf script -i outside.data -F comm 2> err | grep -q threads_total || { fail "names"; cat err; }
# Attaching from inside, by the number there.
"$PCL" $sandbox --bind "$PWD" "$PWD" \
	bash -c 'while :; do :; done & p=$!; perf stat -x, -o attach.csv -e instructions:u -p $p -- sleep 0.3; kill $p' \
	2> err || fail "attach: $(cat err)"
[ -n "$(numbers attach.csv)" ] || { fail "attach"; cat attach.csv err; }
exit $status
