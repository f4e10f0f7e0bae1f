# As hostile.sh, but the member writes without a pause, at random: see hostile.c. SEED and ROUNDS choose what it writes.
status=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
seed=${SEED:-0}
for round in $(seq "$seed" $((seed + ${ROUNDS:-7}))); do
	how=
	[ "$(id -u)" = 0 ] && [ $((round % 8)) -lt 4 ] || how=plain
	head -c 4096 /dev/zero > "$dir/file"
	chmod 666 "$dir/file"
	timeout -k 5 60 "$BUILD/tests/kill/hostile" "$PCL" "$dir/file" "$round" $how storm > "$dir/out" 2> "$dir/err" ||
		status=1
	grep "in the runtime" "$dir/err" && status=1
	# What pcl says but for the documented ends. Programs may have something to say of their calls that failed.
	# A failed check is one, with what it prints of its task.
	awk -F'[][]' '/^pcl\[/ { if (/: check failed at/) failed[$2] = 1; else if (!failed[$2]) print }' "$dir/err" |
		sed 's/^pcl\[[0-9]*\]: //' | grep -v -e "^check failed at" -e "^a change of the session is too large" \
		-e "^no task of the session" -e "^cannot take the event descriptors over" && status=1
	[ $status = 0 ] || { echo "SEED=$round ROUNDS=0 $how"; cat "$dir/out"; head -30 "$dir/err"; break; }
done
# Another session has nothing of it.
"$PCL" sh -c 'exit 3'
[ $? = 3 ] || { echo "a session after it fails"; status=1; }
exit $status
