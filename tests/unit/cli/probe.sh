#!/bin/bash
# --probe names the forms of code; whichever is forced, counts are the same. Images of translations have one form.
set -u
failed=0
fail() { echo "$*"; failed=1; }

"$PCL" --probe >said || fail "--probe: $?"
for form in landing top-byte; do
	grep -qE "^ +[0-9]+\.[0-9]  .* --$form=[a-z0-9]+$" said || { fail "--probe says nothing of --$form"; cat said; }
done
adcx=$(grep -qw adx /proc/cpuinfo && echo --landing=adcx)
for option in $(grep -oE -- '--(landing|top-byte)=[a-z0-9]+' said) --landing=loop --landing=jrcxz $adcx \
	--top-byte=load --top-byte=bswap
do
	# Cold, then warm, in a directory that the others use, too.
	for turn in cold warm; do
		"$PCL" --cache-dir=cache $option count --csv -o csv -e instructions:u,branches:u -- ls -d / >out 2>err ||
			fail "$option, $turn: $? $(cat err)"
		grep -v ^event, csv | cut -d, -f1,5 >>all
		[ "$(cat out)" = / ] || fail "$option, $turn: $(cat out)"
	done
done
[ "$(sort -u all | wc -l)" = 2 ] || { fail "counts differ:"; cat all; }
"$PCL" --landing=other true 2>err && fail "--landing=other is taken"
grep -q 'wrong option --landing=other: the form is --landing=loop|jrcxz|adcx' err || { fail "what it says:"; cat err; }
# A processor without the instruction, as --cpu shows it.
"$PCL" --pin --cpu=x86-64-v2 "$PCL" --landing=adcx true 2>err && fail "--landing=adcx is taken without adcx"
grep -qx 'pcl: --landing=adcx: this processor has no instruction adcx, or no rorx' err ||
	{ fail "what it says:"; cat err; }
exit $failed
