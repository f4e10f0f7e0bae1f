# In a sandbox of gVisor's, whose kernel is another one than Linux: programs do what they do on the host, count the
# same but for what libc does at start, which depends on what a kernel tells it (so that is the same for all programs
# that are linked with it), and are sampled. A machine need not have what the sandbox takes (user namespaces, ptrace):
# then this is skipped.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
runsc=$(PATH=$PATH:/usr/sbin command -v runsc) || { echo "no runsc (Debian's package runsc)"; exit 77; }
platform=systrap rootless=
"$runsc" flags 2>&1 | grep -q systrap || platform=ptrace
[ "$(id -u)" = 0 ] || rootless=--rootless
sandbox() {
	timeout 60 "$runsc" $rootless --root="$PWD/state" --platform=$platform --network=none --ignore-cgroups do \
		--cwd "$PWD" --force-overlay=false env -i PATH=/usr/bin:/bin "$@" < /dev/null
}
counts() { awk -F, '/^(instructions|branches),/ { print $5 }' "$1"; }
chmod 755 . && mkdir tree && cp "$(readlink -f "$PCL")" tree/pcl && cp "$(readlink -f "$PCL")rt" tree/ &&
	cp "$BUILD/tests/count/threads_total" "$BUILD/tests/count/fork" "$BUILD/tests/count/hello_dynamic" \
		"$BUILD/tests/count/jit_rwx" "$BUILD/tests/count/signal_nested" tree/ || exit 1
sandbox true > out 2>&1 || { tail -n 3 out; echo "no sandbox of gVisor's can be made here"; exit 77; }
status=0
count="tree/pcl --no-cache count -e instructions:u,branches:u --csv -o"
for program in threads_total hello_dynamic fork jit_rwx signal_nested; do
	env -i PATH=/usr/bin:/bin $count host.csv -- tree/$program > host.out || exit 1
	sandbox $count sandbox.csv -- tree/$program > sandbox.out 2> sandbox.err
	result=$?
	counts host.csv > host; counts sandbox.csv > counted
	if [ $result != 0 ] || [ "$(wc -l < counted)" != 2 ] || ! cmp -s host.out sandbox.out; then
		echo "$program: status $result"; cat sandbox.err host.out sandbox.out; status=1
	fi
	[ $program = hello_dynamic ] && continue
	paste host counted | awk '{ printf "%d ", $2 - $1 }' >> differences; echo >> differences
done
if [ "$(sort -u differences | wc -l)" != 1 ]; then
	echo "more or less instructions and branches than on the host:"; cat differences; status=1
fi
loop='x=0; while [ $x -lt 20000 ]; do x=$((x + 1)); done'
sandbox tree/pcl --no-cache perf record -o data -e instructions:u -c 100000 /bin/sh -c "$loop" > out 2>&1 &&
	perf script -i data -F ip 2> err | grep -c . > samples
if ! [ -s samples ] || [ "$(cat samples)" -lt 20 ]; then
	echo "no samples:"; tail -n 5 out; cat samples err; status=1
fi
exit $status
