# perf record with a fixed period: as many samples as perf stat's count divided by the period, and two runs give the
# same ones. On one CPU,
# since perf has an event with a count of its own on each. It reads the ring late: it asks for the end twice, and if
# that moved meanwhile, some
# records come twice.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
# perf record sets it, and libc walks the environment.
export DEBUGINFOD_URLS=
status=0
program=$BUILD/tests/count/strings
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
for period in 101 1009 100003; do
	for run in 1 2; do
		taskset -c "$cpu" "$PCL" perf record -q --mmap-flush=128K -o data -e instructions:u -c $period \
			-- "$program" > /dev/null || { echo "perf record: $?"; status=1; }
		perf script -i data -F comm,ip,sym,period > samples$run 2> err || { cat err; status=1; }
	done
	cmp samples1 samples2 || status=1
	count=$(taskset -c "$cpu" "$PCL" perf stat -x, -e instructions:u -- "$program" 2>&1 > /dev/null |
		sed -n 's/^\([0-9]*\),.*instructions.*/\1/p')
	seen=$(wc -l < samples1)
	[ "$seen" = $((count / period)) ] || { echo "period $period: $seen samples of $count instructions"; status=1; }
done
exit $status
