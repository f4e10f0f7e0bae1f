#!/bin/bash
# pcl --abi=2009: programs that know the text of 2009 only, today's interface beside it, and nothing of it without.
set -u
status=0
fail() { echo "$*"; status=1; }
programs=$BUILD/tests/clients
header=$ROOT/include/pcl/perf_2009.h
flags="-Wall -Wextra -Werror -pedantic -fsyntax-only"
# shellcheck disable=SC2086 # a list of words
gcc $flags -x c "$header" && g++ $flags -x c++ "$header" || fail "the header does not compile"
printf '#include <linux/perf_event.h>\n#include "%s"\n' "$header" >both.c
gcc -fsyntax-only both.c 2>said && fail "both headers at once compile"
grep -q 'cannot be included together' said || fail "both headers: $(head -n 3 said)"

"$PCL" --abi=2009 "$programs/abi_2009" || fail "counting"
"$PCL" --abi=2009 --counters=1 "$programs/abi_2009" few || fail "with one counter"
"$PCL" --abi=2009 "$programs/abi_2009_records" || fail "records"
"$PCL" --abi=2009 --stress=restart "$programs/abi_2009_records" restart || fail "records that are put back"
"$PCL" --abi=2008 true 2>said && fail "--abi=2008 is accepted"
grep -q 'the form is --abi=today|2009' said || fail "--abi=2008: $(cat said)"

"$PCL" --abi=2009 --strace=why "$programs/abi_2009" >said 2>&1
for words in \
	'{config=HARDWARE|INSTRUCTIONS, read_format=TOTAL_TIME_ENABLED|TOTAL_TIME_RUNNING, flags=disabled}, 0, -1' \
	'{config=raw|0xc0, flags=disabled}' '{type=RAW, size=64, config=0xc0' \
	'config=3|0}, 0, -1, -1, 0) = -1 EINVAL (the type in hw_event.config is not 0, 1 or 2'; do
	grep -qF "$words" said || fail "--strace=why does not print $words"
done

# Today's interface is there, too: what tests it passes, and pcl's own commands count.
for test in abi/groups abi/inherit abi/mmap abi/mmap_page abi/output abi/prctl abi/refresh abi/sample_fields \
	abi/sideband_rare abi/errno/einval abi/errno/enoent abi/errno/efault; do
	"$PCL" --abi=2009 --paranoid=2 "$BUILD/tests/$test" >said 2>&1 || [ $? = 77 ] || fail "$test: $(tail -n 5 said)"
done
counted() { "$PCL" "$@" count --csv -o csv -e instructions -- "$BUILD/tests/count/hello_static" >/dev/null &&
	awk -F, '$1 == "instructions" { print $5 }' csv; }
plain=$(counted) with=$(counted --abi=2009)
[ -n "$plain" ] && [ "$plain" = "$with" ] || fail "pcl count: $plain instructions, $with with --abi=2009"

# Without the option such a program is told what it is told natively.
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 2)
"$programs/abi_2009" answers >native
if grep -q '^0 0 8' native; then
	for options in "" --abi=today; do
		# shellcheck disable=SC2086 # none or one
		"$PCL" $options --paranoid="$paranoid" "$programs/abi_2009" answers >under 2>said
		diff -U1 native under || fail "other answers than natively ${options:-without an option}"
	done
	[ -e /debug/tracing ] || "$PCL" test ! -e /debug/tracing || fail "/debug/tracing is there without --abi=2009"
fi
exit $status
