# Samples at a frequency are spread over instructions as those of a period are: no function has more or fewer than it
# executes, wherever
# in its code the translator looks at limits.
. "$ROOT/tests/clients/perf_functions.bash"
uneven=$BUILD/tests/clients/uneven

# shares: of the data's sum of periods, for each function, in hundredths of a percent
shares() {
	script -F period,ip,sym
	awk '{ sum[$3] += $1; all += $1 } END { for (f in sum) printf "%s=%d ", f, 10000 * sum[f] / all; printf "samples=%d\n", NR }' text
}
share() {
	sed -n "s/.*\<$1=\([0-9]*\).*/\1/p" <<< "$2"
}

record -e instructions:u -c 10007 -- "$uneven" 100000
exact=$(shares)
for event in instructions:u branches:u; do
	[ $event = instructions:u ] || { record -e $event -c 1009 -- "$uneven" 100000; exact=$(shares); }
	record -e $event -F 20000 -- "$uneven" 200000
	seen=$(shares)
	n=$(share samples "$seen")
	[ "$n" -ge 1000 ] || fail "$event: $n samples"
	for function in straight circles branches outer; do
		is=$(share $function "$seen") due=$(share $function "$exact")
		# four standard errors, and what limits that were passed may shift: up to 1.4 % was seen, as the mean of
		# several runs (in earlier code 3.5)
		awk -v p="${due:-0}" -v s="${is:-0}" -v n="$n" \
			'BEGIN { p /= 10000; s /= 10000; d = s - p; exit d * d > (0.025 + 4 * sqrt(p * (1 - p) / n)) ^ 2 }' ||
			fail "$event: $function has ${is:-0} of 10000 samples' periods instead of ${due:-0} (in $n samples)"
	done
done
exit $status
