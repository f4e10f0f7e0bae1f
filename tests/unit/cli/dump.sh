#!/bin/bash
# --dump: a letter for each stage, and what the stages say of each other.
set -u
failed=0
fail() { echo "$*"; failed=1; }

"$PCL" --dump=gdhx cat /dev/null >out 2>all || fail "status $?"
[ -s out ] && fail "standard output: $(head -3 out)"
[ -z "$(grep -vE '^(fragment|g|d|h|x) ' all)" ] || fail "other lines: $(grep -vE '^(fragment|g|d|h|x) ' all | head -3)"
for letter in g d h x; do
	[ "$(grep -c "^$letter " all)" -gt 1000 ] || fail "few lines of $letter"
	"$PCL" --dump=$letter cat /dev/null 2>one >out
	[ "$(cut -c1 one | sort -u | tr -d '\n')" = "$(printf 'f\n%s\n' $letter | sort | tr -d '\n')" ] ||
		fail "--dump=$letter: $(cut -c1 one | sort | uniq -c)"
done

# Most instructions are copied as they are: what the host has for the fragment's first one, if it is plain.
awk '/^fragment/ { want = "" } /^g / && want == "" { want = $2; bytes = ""; for (i = 3; i <= NF && $i ~ /^[0-9a-f][0-9a-f]$/; i++) bytes = bytes " " $i; plain = $i ~ /^plain/ }
	/^h / && $4 == want ":" && plain { seen = ""; for (i = 5; i <= NF; i++) seen = seen " " $i; n++; same += index(seen, bytes) == 1; want = "-" }
	END { exit !(n > 100 && same > n / 2) }' all || fail "the host's bytes are not the guest's"

# Each linked exit leads to where an entry is.
grep -oE '^d 0x[0-9a-f]+ +entry [0-9]+ at 0x[0-9a-f]+' all | awk '{ print $4, $6 }' | sort >entries
sed -nE 's/^x exit .*, to entry ([0-9]+) at (0x[0-9a-f]+)$/\1 \2/p' all | sort -u >linked
[ -s linked ] || fail "no exit is linked"
[ -z "$(comm -13 entries linked)" ] || fail "exits lead elsewhere: $(comm -13 entries linked | head -3)"

at=$(grep '^g ' all | sed -n '500s/^g \(0x[0-9a-f]*\) .*/\1/p')
"$PCL" --dump=g --dump-at="$at" cat /dev/null 2>one >out
# Each fragment has it, a loop that is there several times more than once.
awk -v at="$at" '/^fragment/ { n++; seen = 0 }
	$1 == "g" && $2 == at && !seen++ { with++ }
	END { exit !(n && n == with) }' one ||
	fail "--dump-at=$at: $(head -3 one)"

# prefetcht0 of an address, in front of calls.
prefetches() { "$PCL" --no-cache --dump=h "$@" cat /dev/null 2>&1 >out | grep -c ': 0f 18 0c 25 .* 68 '; }
[ "$(prefetches)" = 0 ] || fail "calls prefetch in little code"
[ "$(prefetches --prefetch=never)" = 0 ] || fail "--prefetch=never"
[ "$(prefetches --prefetch=always)" -gt 10 ] || fail "--prefetch=always: few calls do"
exit $failed
