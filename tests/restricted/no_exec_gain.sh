# Where no memory may become executable pcl runs, counts and samples as elsewhere: forks, threads, executed programs,
# python, perf.
hold=$BUILD/tests/restricted/no_exec_gain
count=$BUILD/tests/count
status=0
cat > fork.py <<'END'
import os, threading, subprocess
def work(n):
    return sum(i * i for i in range(n))
threads = [threading.Thread(target=work, args=(20000,)) for i in range(3)]
for t in threads: t.start()
for n in range(12):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(work(3000 + n) % 7)
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]) + n)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
for t in threads: t.join()
print(subprocess.run(["/bin/sh", "-c", "(echo sub); exec /bin/sh -c 'exec echo exec'"], capture_output=True).stdout)
END
cat > chain.sh <<'END'
[ "$1" = 0 ] && { (echo end); exit 5; }
exec "$0" chain.sh $(($1 - 1))
END
same()
{
	"$hold" $kind "$@" > native 2>&1; a=$?
	"$hold" $kind "$PCL" "$@" > pcl 2>&1; b=$?
	[ $a = $b ] && cmp -s native pcl ||
		{ echo "$kind: $*: status natively $a, under pcl $b"; diff native pcl | head; status=1; }
}
numbers() { grep -E 'instructions|branches' "$1" | cut -d, -f1,3; }
for kind in mdwe filter file; do
	"$hold" $kind true > why || { echo "$kind: $(cat why)"; continue; }
	ran=1
	same "$count/hello_static"
	same "$count/hello_dynamic"
	same "$count/threads_total"
	same "$count/fork_threads"
	same bash chain.sh 6
	command -v python3 > /dev/null && same python3 fork.py
	command -v perf > /dev/null || continue
	for program in fork threads_total; do
		# bash puts the path of what it executes into $_, whose length the C library's start counts.
		env -i PATH="$PATH" "$PCL" perf stat -x, -o free.csv -e instructions:u,branches:u -- "$count/$program" > /dev/null
		env -i PATH="$PATH" "$hold" $kind "$PCL" perf stat -x, -o bound.csv -e instructions:u,branches:u \
			-- "$count/$program" > /dev/null
		numbers free.csv > free; numbers bound.csv > bound
		[ -s free ] && cmp -s free bound || { echo "$kind: $program: counts differ"; cat free bound; status=1; }
	done
	"$hold" $kind "$PCL" perf record -q -e instructions:u -c 10000 -o data \
		-- bash -c 'for i in $(seq 20); do (:); done' > out 2>&1 &&
		"$PCL" perf script -i data -F ip 2> /dev/null | grep -c . > n
	[ "$(cat n 2> /dev/null || echo 0)" -gt 20 ] || { echo "$kind: $(cat n) samples"; cat out; status=1; }
	rm -f n
done
[ $status = 0 ] && [ -z "$ran" ] && exit 77
exit $status
