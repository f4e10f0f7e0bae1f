# Tables that become writable as they fill: a process, and each that it forks, promises little memory, the counts are
# the same, and a cache that
# gets no more memory is begun afresh.
program=$BUILD/tests/restricted/strict_overcommit
status=0
fail() { echo "$@"; status=1; }
run() { env -i PATH="$PATH" timeout -k 5 60 "$PCL" "$@"; }
kib() { run "$@" sh -c 'grep VmData /proc/self/status; (grep VmData /proc/self/status)' |
	awk '{ if ($2 > most) most = $2; n++ } END { print n == 2 ? most : 10 ^ 9 }'; }
for options in --strict-overcommit "--strict-overcommit --dual-map"; do
	n=$(kib $options)
	[ "$n" -lt 102400 ] || fail "$options: $n KiB of private memory"
	for limit in "" 0; do
		run $options "$program" $limit > out 2>&1 && [ "$(cat out)" = "alone 0, child 0" ] ||
			fail "$options, $limit: status $?, $(cat out)"
	done
done
run --strict-overcommit --stats "$program" 0 2>&1 | grep -q '[1-9] *code cache full' || fail "the cache was never full"
# The kernel's own accounting, where it is so strict now.
if [ "$(cat /proc/sys/vm/overcommit_memory)" = 2 ]; then
	n=$(kib)
	[ "$n" -lt 102400 ] || fail "without the option: $n KiB of private memory"
fi
command -v perf > /dev/null || exit $status
for options in "" --strict-overcommit; do
	run $options perf stat -x, -o csv -e instructions:u,branches:u -- "$BUILD/tests/count/fork" > /dev/null
	grep -E 'instructions|branches' csv | cut -d, -f1,3 > "counts$options"
done
[ -s counts ] && cmp -s counts counts--strict-overcommit ||
	{ fail "counts differ"; cat counts counts--strict-overcommit; }
exit $status
