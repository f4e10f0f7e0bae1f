# Whole sessions killed at random, 60 times, while they start, fork, count and end: nothing hangs, no process stays.
status=0
for i in $(seq 60); do
	setsid "$PCL" "$BUILD/tests/count/counted" bash -c 'for i in $(seq 50); do /bin/true; done' > /dev/null 2>&1 &
	leader=$!
	sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
	kill -KILL -- -$leader 2>/dev/null
	wait $leader 2>/dev/null
	session=$leader
	for n in 1 2 3 4 5 6 7 8 9 10; do
		# Not those that only wait for init to reap them.
		left=$(ps -o pid=,stat= -s $session | awk '$2 !~ /^Z/ { print $1 }')
		[ -z "$left" ] && break
		sleep 0.05
	done
	[ -z "$left" ] || { echo "round $i: left: $left"; ps -o pid,stat,args -s $session; kill -KILL $left; status=1; }
done
exit $status
