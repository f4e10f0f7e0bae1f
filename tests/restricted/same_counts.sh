# As uid 65534, without capabilities and under a seccomp filter: the same counts as without.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
restrict=$BUILD/tests/restricted/restrict
chmod 755 .
# The user may not be able to reach the tree: give it a copy that it can run.
mkdir tree && cp "$(readlink -f "$PCL")" tree/pcl && cp "$(readlink -f "$PCL")rt" tree/ &&
	cp "$BUILD/tests/count/counted" "$BUILD/tests/count/threads_total" "$BUILD/tests/count/fork" \
		"$BUILD/tests/count/hello_dynamic" "$restrict" tree/ &&
	chmod -R a+rX . || exit 1
seq 30000 > data
numbers() { grep -E 'instructions|branches' "$1" | cut -d, -f1,3; }
# Not a shell with children: how often it looks for them depends on when they end, natively as well.
status=0
for command in "xz -1kc data" "tree/threads_total" "tree/hello_dynamic" tree/fork; do
	eval "env -i PATH=/usr/bin:/bin tree/pcl perf stat -x, --log-fd 9 -e instructions:u,branches:u -- $command" \
		9> free.csv > /dev/null || exit 1
	eval \
		"env -i PATH=/usr/bin:/bin tree/restrict tree/pcl perf stat -x, --log-fd 9 -e instructions:u,branches:u -- $command" \
		9> bound.csv > /dev/null
	result=$?
	[ $result = 77 ] && { echo "no seccomp filter can be installed here"; exit 77; }
	numbers free.csv > free; numbers bound.csv > bound
	if [ $result != 0 ] || ! [ -s free ] || grep -q 'not' free || ! cmp -s free bound; then
		echo "$command: status $result"; cat free bound bound.csv; status=1
	fi
done
# The whole set of events, without perf in between.
env -i tree/pcl tree/counted -k tree/threads_total 2> free > /dev/null || exit 1
env -i tree/restrict tree/pcl tree/counted -k tree/threads_total 2> bound > /dev/null || status=1
cmp free bound || status=1
exit $status
