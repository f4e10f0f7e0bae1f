# Two threads that sample themselves take nearly twice the samples of one, if the machine does nearly twice the work in
# two threads.
threads=$BUILD/bench/threads
best()
{
	for i in 1 2 3 4 5; do
		"$@" 0.2 || return
	done | awk '{ rate = $1 / $2 } rate > most { most = rate } END { printf "%.9f", most }'
}
ratio() { awk "BEGIN { print $2 / $1 }"; }
for try in 1 2 3; do
	plain=$(ratio "$(best "$threads" 1 0)" "$(best "$threads" 2 0)")
	sampled=$(ratio "$(best "$PCL" "$threads" 1 100)" "$(best "$PCL" "$threads" 2 100)")
	echo "two threads: $plain times the work of one natively, $sampled times the samples under pcl"
	awk "BEGIN { exit !($plain > 1.6 && $sampled > 1.6) }" && exit 0
done
awk "BEGIN { exit !($plain > 1.6) }" && exit 1
echo "no two processors to run on"
exit 77
