# Counts are the same whichever way code is translated: also those of modelled cycles, and of kinds of instructions.
events=instructions:u,branches:u,cycles:u
kinds=branches_taken:u,returns:u,mem_loads:u,mem_stores:u
counts()
{
	for list in $events $events,$kinds; do
		"$PCL" "$@" count --csv -o csv -e "$list" -- "$BUILD/tests/count/$program" > out 2> errors || { cat errors; exit 1; }
		cut -d, -f1,5 csv
	done
}
adcx=$(grep -qw adx /proc/cpuinfo && echo --landing=adcx)
for program in hot_loops loops rep_strings switch_table recursion; do
	counts > as_is || { cat as_is; exit 1; }
	grep -qE '^cycles,[0-9]{4}' as_is || { echo "$program: no cycles"; cat as_is; exit 1; }
	for mode in --no-unroll --no-spans --landing=loop --landing=jrcxz $adcx --prefetch=always --one-insn-blocks \
		"--no-traces --no-liveness"
	do
		counts $mode > other || { cat other; exit 1; }
		cmp -s as_is other || { echo "$program differs with $mode"; diff as_is other; exit 1; }
	done
done
