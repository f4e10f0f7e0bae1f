# All events count the same in a cold run, in the run that writes an image, and in warm runs; so do samples, one by one.
source "$ROOT/tests/warm/warm_functions.bash"
export PYTHONHASHSEED=0 PERL_HASH_SEED=0
printf 'int main(int n, char **v) { int s = 0; for (int i = 0; i < 100000; i++) s = s * 31 + n; return s & 1; }\n' \
	> unit.c
programs=("ls /etc" "sed -n p /etc/passwd" "sort -S 1M /etc/passwd" "env" "grep -c r /etc/passwd")
[ -x /usr/bin/python3 ] && programs+=("/usr/bin/python3 -S -c print(sum(range(20000)))")
command -v perl > /dev/null && programs+=("perl -e \$x.=\$_*3,for-1..2000;print-length\$x")
command -v gcc > /dev/null && programs+=("gcc -O1 -S -o - unit.c")
settle
same=0
for program in "${programs[@]}"; do
	for mode in "" "-k"; do
		rm -rf "$cache"
		cold "$COUNTED" $mode -o cold $program > cold.out 2>&1
		cold "$COUNTED" $mode -o cold2 $program > cold2.out 2>&1
		cmp -s cold cold2 || { echo "not repeatable: $program"; continue; }
		for run in first warm warmer; do
			for try in 1 2 3 4; do # what a program does may depend on the time now and then
				warm "$COUNTED" $mode -o $run $program > $run.out 2>&1
				cmp -s cold $run && break
			done
			cmp cold $run && cmp cold.out $run.out || fail "$run $mode $program: $(paste cold $run)"
		done
		[ "$(used "$COUNTED" $mode $program)" -ge 1 ] || fail "no image was used: $program"
		same=$((same + 1))
		echo "same $mode: $program: $(cat cold)"
	done
done

[ $same -ge 10 ] || fail "only $same programs"

# The image of an uncounted run, with code for no events, serves a counted one, and the other way round.
rm -rf "$cache"
warm sort -S 1M /etc/passwd > /dev/null
warm "$COUNTED" -o second sort -S 1M /etc/passwd > /dev/null
warm "$COUNTED" -o third sort -S 1M /etc/passwd > /dev/null
cold "$COUNTED" -o cold sort -S 1M /etc/passwd > /dev/null
cmp cold second && cmp cold third || fail "with another variant's image"

# Samples by instructions and by branches, near together and far apart.
for period in "0:97" "0:10007" "1:1009" "0:5003 1:701"; do
	rm -rf "$cache"
	cold "$SAMPLED" -o rings $period -- sort -S 1M /etc/passwd > /dev/null 2>&1
	sort rings > cold # two events' in any order
	for run in first warm warmer; do
		warm "$SAMPLED" -o rings $period -- sort -S 1M /etc/passwd > /dev/null 2>&1
		sort rings > $run
		cmp cold $run || fail "samples $period $run"
	done
	[ "$(wc -l < cold)" -ge 10 ] || fail "no samples"
	echo "same samples $period: $(wc -l < cold)"
done
exit 0
