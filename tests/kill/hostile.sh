# A member that writes over all of the session's memory misleads nobody: see hostile.c. As root it gives up its
# privileges first, in each second round.
status=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for round in 0 1 2 3 4 5 6 7; do
	how=
	[ "$(id -u)" = 0 ] && [ $((round % 2)) = 0 ] || how=plain
	head -c 4096 /dev/zero > "$dir/file"
	chmod 666 "$dir/file"
	timeout -k 5 60 "$BUILD/tests/kill/hostile" "$PCL" "$dir/file" $round $how > "$dir/out" 2> "$dir/err" || status=1
	grep "in the runtime" "$dir/err" && status=1
	[ $status = 0 ] || { echo "round $round $how"; cat "$dir/out"; head -30 "$dir/err"; break; }
done
exit $status
