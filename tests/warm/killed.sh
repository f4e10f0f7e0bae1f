# Processes are killed at random while they write images, for 20 seconds, and two sessions do that at once: results and
# counts stay right, and what writers have
# left goes. $SEED repeats the times.
source "$ROOT/tests/warm/warm_functions.bash"
seed=${SEED:-$$}
RANDOM=$seed
echo "SEED=$seed"
command -v perl > /dev/null || { echo "no perl"; exit 77; }
program=(perl -e 'print length join ",", map { $_ * 3 } 1..3000')
export PERL_HASH_SEED=0
cold "$COUNTED" -o cold "${program[@]}" > cold.out
start=$(date +%s%N)
warm "${program[@]}" > /dev/null
took=$((($(date +%s%N) - start) / 1000000 + 5))
rounds=0 wrote=0 left=0
end=$((SECONDS + 20))
while [ $SECONDS -lt $end ]; do
	rm -f "$cache"/*.warm
	[ $((rounds % 20)) = 19 ] && rm -f "$cache"/*
	warm "${program[@]}" > /dev/null & a=$!
	warm "${program[@]}" > /dev/null & b=$!
	# Mostly near the end, where they write.
	sleep $(printf '0.%03d' $((RANDOM % 3 ? took / 2 + RANDOM % took : RANDOM % took)))
	kill -9 $a 2> /dev/null; [ $((RANDOM % 2)) = 0 ] && kill -9 $b 2> /dev/null
	wait 2> /dev/null
	wrote=$((wrote + $(images)))
	left=$((left + $(ls "$cache" | grep -c '\.warm\.')))
	if [ $((rounds % 4)) = 0 ]; then
		warm "$COUNTED" -o warm "${program[@]}" > warm.out || fail "status $?"
		cmp cold warm && cmp cold.out warm.out || fail "after $rounds rounds"
	else
		warm "${program[@]}" > warm.out || fail "status $?"
		cmp cold.out warm.out || fail "after $rounds rounds"
	fi
	rounds=$((rounds + 1))
done 2> /dev/null
echo "$rounds rounds, $wrote images, $left beginnings were left"
[ $rounds -ge 15 ] || fail "only $rounds rounds"
[ $wrote -gt 0 ] || fail "nobody ever wrote"
# What is left is removed when it is ten minutes old.
: > "$cache/0123.warm.abc"; touch -d '20 minutes ago' "$cache/0123.warm.abc"
rm -f "$cache"/*.warm
warm "${program[@]}" > /dev/null
[ ! -e "$cache/0123.warm.abc" ] || fail "a beginning stays for ever"
exit 0
