# perf stat of cgroups: hierarchical, exact, for tasks that are moved by the session and by somebody else.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
for mount in /sys/fs/cgroup/unified /sys/fs/cgroup none; do
	[ -e $mount/cgroup.controllers ] && mkdir $mount/pcl-test-$$ 2> err && break
done
[ $mount != none ] || { echo "no cgroup can be made here"; exit 77; }
top=pcl-test-$$
dir=$mount/$top
mkdir "$dir/a" "$dir/b"
trap 'rmdir "$dir/a" "$dir/b" "$dir"' EXIT
status=0
fail() { echo "$*"; status=1; }

# One run of the loop in a, two in b.
loop=$BUILD/tests/clients/multiplexed_loop
cat > work <<END
(echo \$BASHPID > $dir/a/cgroup.procs; exec $loop) &
(echo \$BASHPID > $dir/b/cgroup.procs; $loop; exec $loop) &
wait
END
"$PCL" perf stat -a -x, -o csv -e instructions:u --for-each-cgroup $top/a,$top/b,$top -- bash work ||
	fail "--for-each-cgroup: $?"
# Fields: value, unit, event, cgroup, time running, percentage of the time.
awk -F, -v top=$top '$3 == "instructions:u" { n[$4] = $1 }
	END {
		a = n[top "/a"]; b = n[top "/b"]
		exit !(a > 100000000 && b > 1.99 * a && b < 2.01 * a && n[top] == a + b)
	}' csv || { fail "cgroups of a session"; cat csv; }
"$PCL" perf stat -a -x, -o csv -e instructions:u,branches:u -G $top/a,$top/b -- bash work || fail "-G: $?"
[ "$(grep -cE "^[0-9]{8,},.*,$top/[ab]," csv)" = 2 ] || { fail "-G"; cat csv; }
three=instructions:u,branches:u,cycles:u
"$PCL" --counters=1 perf stat -a -x, -o csv -e $three --for-each-cgroup $top/b -- bash work ||
	fail "--counters=1: $?"
awk -F, '$1 ~ /^[0-9]+$/ { n++; sum += $6; if ($6 < 10 || $6 > 60) bad = 1 }
	END { exit bad || n != 3 || sum < 80 || sum > 120 }' csv || { fail "--counters=1"; cat csv; }
# Moved by somebody who is no member: noticed when the task enters the runtime.
"$PCL" perf stat -a -x, -o csv -e instructions:u --for-each-cgroup $top/a -- \
	bash -c 'echo $$ > pid; until [ -e moved ]; do :; done
		for ((i = 0; i < 20000; i++)); do [ -e x ]; done; true' &
for ((i = 0; i < 200; i++)); do [ -s pid ] && break; sleep 0.05; done
echo "$(cat pid)" > "$dir/a/cgroup.procs" || fail "cannot move"
: > moved
wait $! || fail "a task that is moved from outside: $?"
awk -F, '$1 > 1000000 { found = 1 } END { exit !found }' csv || { fail "a task that is moved from outside"; cat csv; }
# What user space cannot see is refused.
"$PCL" perf stat -x, -o csv -e cgroup-switches -- true 2> err
grep -q '^<not supported>' csv || { fail "cgroup-switches"; cat csv; }
exit $status
