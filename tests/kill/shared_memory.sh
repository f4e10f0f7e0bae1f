# Who has the same memory as one who is killed goes on: see shared_memory.c. Natively first.
test=$BUILD/tests/kill/shared_memory
for run in "$test" "$PCL $test" "$PCL perf stat -e instructions:u,branches:u -o stat.txt $test"; do
	for way in "map 60 vfork" "map 60 shared" "code 100 vfork" "code 100 shared" "orphan 30"; do
		# shellcheck disable=SC2086
		[ "$($run $way)" = ok ] || { echo "$run $way"; exit 1; }
	done
done
