# A damaged image gives the right result and count all the same, at worst cold: for 20 seconds, an image is cut off,
# bits of it are flipped, ranges are
# overwritten with something else, or it becomes another kind of file, at random. $SEED repeats it.
source "$ROOT/tests/warm/warm_functions.bash"
seed=${SEED:-$$}
RANDOM=$seed
echo "SEED=$seed"
random() { echo $(((RANDOM << 15 | RANDOM) % $1)); }
# Without -S, what sort counts depends on how much memory is free.
cold "$COUNTED" -o cold sort -S 1M /etc/passwd > cold.out
warm "$COUNTED" -o warm sort -S 1M /etc/passwd > /dev/null
warm ls / > /dev/null
mkdir good
cp -p "$cache"/*.warm good/
[ "$(ls good | wc -l)" -ge 3 ] || fail "there are no images"
rounds=0 did=""
end=$((SECONDS + 20))
while [ $SECONDS -lt $end ]; do
	rm -rf "$cache"/*; cp -p good/* "$cache"/
	for file in "$cache"/*.warm; do
		size=$(stat -c %s "$file")
		what=$(random 10)
		case $what in
		0) truncate -s $(random $size) "$file" ;;
		1) truncate -s $(($(random $((size / 4096))) * 4096)) "$file" ;;
		2 | 3 | 4) # bits
			for i in $(seq $((1 + $(random 3)))); do
				printf "\\x$(printf %02x $(random 256))" | dd of="$file" bs=1 seek=$(random $size) conv=notrunc status=none
			done ;;
		5) dd if=/dev/urandom of="$file" bs=1 seek=$(random $size) count=$((1 + $(random 5000))) conv=notrunc status=none ;;
		6) # of another image
			other=$(ls good/*.warm | shuf -n1 --random-source=<(yes $RANDOM))
			at=$(random 20)
			dd if="$other" of="$file" bs=4096 skip=$at seek=$at count=$((1 + $(random 9))) conv=notrunc status=none ;;
		7) dd if=/dev/zero of="$file" bs=4096 seek=$(random $((size / 4096))) count=1 conv=notrunc status=none ;;
		8) cp "$(ls good/*.warm | shuf -n1)" "$file"; chmod 600 "$file" ;;
		9) rm "$file"
			case $(random 4) in
			0) mkfifo "$file" ;;
			1) mkdir "$file" ;;
			2) ln -s ../good/"$(basename "$file")" "$file" ;;
			3) : > "$file" ;;
			esac ;;
		esac
		did="$did${did:+ }$what"
	done 2> dd.err
	warm "$COUNTED" -o warm sort -S 1M /etc/passwd > warm.out || fail "status $? after $did"
	cmp cold warm && cmp cold.out warm.out || fail "after $did"
	did=
	rounds=$((rounds + 1))
done
echo "$rounds rounds"
[ $rounds -ge 20 ] || fail "only $rounds rounds"
exit 0
