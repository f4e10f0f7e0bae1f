# pcl --pin=+schedule: programs with threads count the same to the unit in each run, with another environment, under
# load; and what threads may do to each other ends.
set -u
failed=0
fail() { echo "$*"; failed=1; }
turns=$BUILD/tests/clients/turns
seq 100000 > data
for i in 1 2; do
	timeout 300 sh -c 'while :; do :; done' &
done
trap 'kill $(jobs -p) 2>/dev/null' EXIT

# The counts and the output of some runs, each line once: the options of pcl, the program.
runs=10
some_runs()
{
	for run in $(seq $runs); do
		env "VARIABLE_$run=$(printf "%0$((run * run * 13))d" 7)" timeout -k 1 60 \
			"$PCL" $1 count --csv -e instructions,branches -- "${@:2}" 2>&1 > output |
			awk -F, '/^(instructions|branches)/ { printf "%s %s ", $1, $5 }'
		cksum < output
	done | sort | uniq -c
}

same()
{
	command -v "$1" > /dev/null || { echo "$1: not installed"; return; }
	lines=$(some_runs --pin=all "$@")
	# Where the host refuses to pin process ids, or somebody else takes one of them first, they may get another
	# digit among the runs; java counts 0.1 % more then. That happens once in thousands of processes.
	for again in 1 2; do
		case $lines in *$'\n'*) lines=$(some_runs --pin=+schedule "$@") ;; esac
	done
	case $lines in
	*$'\n'*) fail "$*: differs: $lines" ;;
	*instructions\ *[0-9]\ branches\ *[0-9]\ *) echo "$*: $lines" ;;
	*) fail "$*: counts nothing: $lines" ;;
	esac
}

cat > threads.py <<'END'
import queue, threading, time
q, out, lock = queue.Queue(5), [], threading.Lock()
def work(n):
	while (v := q.get()) is not None:
		s = sum(i * i % 7 for i in range(v))
		with lock:
			out.append((n, s))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for i in range(200): q.put(i * 53 % 3000)
time.sleep(0.01)
for t in threads: q.put(None)
for t in threads: t.join()
print(hash(tuple(out)))
END

same "$turns"
same xz -T2 --block-size=200KiB -1kc data
runs=4 # of those that take longer
same /usr/bin/python3 threads.py
same node -e 'console.log(new Map([["a", Math.random()]]), Date.now())'
same go version
# Each start looks at what other JVMs of the user have left in /tmp/hsperfdata_USER, if it has a file there itself.
same java -XX:+PerfDisableSharedMem -version
[ "$(xz -T2 --block-size=200KiB -1kc data | cksum)" = \
	"$("$PCL" --pin=+schedule xz -T2 --block-size=200KiB -1kc data | cksum)" ] ||
	fail "xz: another result"

# What is counted besides, and how code is translated, changes no order.
"$PCL" --pin=+schedule "$turns" > out || fail "turns: $(cat out)"
for way in --one-insn-blocks --no-approach --no-polls --stress=poll,restart; do
	timeout -k 1 100 "$PCL" --pin=+schedule $way "$turns" | cmp -s - out || fail "another order with $way"
done
"$PCL" --pin=+schedule count -e branches,cycles -o csv -- "$turns" | cmp -s - out ||
	fail "another order where other events are counted"
"$PCL" --pin=+schedule perf record -q -o record.data -e instructions:u -c 5000 "$turns" > sampled 2> perf.err
[ ! -s sampled ] || cmp -s sampled out || fail "another order where samples are taken"

# Without it the order is the host's. A process that has threads and a child, too, ends.
timeout -k 1 60 "$PCL" --pin=+schedule "$turns" child > out || fail "a child: $(cat out)"

# What is rarer works as natively.
timeout -k 1 60 "$BUILD/tests/clients/turns_rare" > native || fail "turns_rare, natively: $(cat native)"
timeout -k 1 60 "$PCL" --pin=+schedule "$BUILD/tests/clients/turns_rare" | cmp - native || fail "turns_rare"

# Images of translations change no count.
for way in --cache-dir=images --cache-dir=images --no-cache; do
	"$PCL" $way --pin=+schedule count --csv -e instructions -- "$turns" 2>&1 > /dev/null | grep '^instructions'
done | cut -d, -f5 | sort -u > counts
[ "$(wc -l < counts)" = 1 ] || fail "other counts with images: $(cat counts)"

# Whoever waits for a turn can be ended, and the program executed anew.
for signo in TERM KILL; do
	timeout -k 5 -s $signo 1 "$PCL" --pin=+schedule /usr/bin/python3 -c '
import threading
for i in range(3): threading.Thread(target=lambda: [0 for x in iter(int, 1)]).start()'
	[ $? = $([ $signo = TERM ] && echo 124 || echo 137) ] || fail "SIG$signo: another status"
done
[ "$(timeout -k 1 60 "$PCL" --pin=+schedule /usr/bin/python3 -c '
import os, threading
threading.Thread(target=lambda: [0 for x in iter(int, 1)], daemon=True).start()
os.execvp("echo", ["echo", "executed"])')" = executed ] || fail "exec with threads that wait for a turn"
exit $failed
