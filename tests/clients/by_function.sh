#!/bin/bash
# pcl count --by-function: known counts of functions; where their names are found; what is said of errors; what is
# refused.
set -u
status=0
fail() { echo "$*"; status=1; }
command -v g++ >/dev/null || { echo "no g++"; exit 77; }
export PYTHONHASHSEED=0

# known() is 2,002 instructions each time, 1,001 of them branches.
cat >known.cc <<'END'
#include <cstdlib>
#include <time.h>
#include <unistd.h>
asm(".globl known\n.type known, @function\nknown: mov $1000, %ecx\n1: dec %ecx\njnz 1b\nret\n.size known, . - known\n");
extern "C" void known();
namespace outer { struct thing { __attribute__((noinline)) void often(int n); }; }
void outer::thing::often(int n)
{
	while (n--)
		known();
}
int main(int argc, char **argv)
{
	struct timespec ts;
	if (argc > 2) /* the vDSO */
		for (int i = 0; i < 20000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
	outer::thing().often(atoi(argv[1]));
}
END
g++ -O1 -g -o known known.cc || fail g++

# counted ARGUMENTS: the functions, into csv.
counted() { "$PCL" count --by-function --csv -o csv "$@" 2>err || fail "count $*: $?: $(cat err)"; }
# of FUNCTION FILE [COLUMN]: its count, the sum of all lines.
of() { awk -F, -v name="$1" -v file="$2" -v column="${3:-3}" \
	'$1 == name && $2 ~ file { n += $column } END { print n + 0 }' csv; }

counted -c 1 -e instructions,branches -- ./known 30
[ "$(of known /known$)" = 60060 ] && [ "$(of known /known$ 4)" = 30030 ] ||
	fail "known() is $(of known /known$), $(of known /known$ 4)"
grep -q '^outer::thing::often,' csv || fail "no demangled name: $(grep often csv)"
[ "$(of '(in no sample)' '' 3)" = 0 ] || fail "period 1 misses some"
whole=$("$PCL" count --csv -o - -e instructions,branches -- ./known 30 | awk -F, 'NR > 1 { print $5 }' | tr '\n' ' ')
sums=$(awk -F, '/^function/ { on = 1; next } on { a += $3; b += $4 } END { print a, b " " }' csv)
[ "$sums" = "$whole" ] || fail "the functions' sums are $sums, the counts $whole"

# A function of a library, in the PLT.
cat >library.cc <<'END'
#include <string>
int main()
{
	std::string s;
	for (int i = 0; i < 100; i++)
		s.append("x", 1);
	return s.size() != 100;
}
END
g++ -O1 -fno-plt -o no_plt library.cc && g++ -O1 -Wl,-z,lazy -o library library.cc || fail "g++ library.cc"
counted -c 1 -e instructions -- ./library
grep -q '^"std::[^"]*::_M_append@plt",' csv || fail "no name in the PLT: $(grep plt csv)"

# At a longer period: the sum stays exact, a share is right to what is said.
counted -- sh -c './known 4000; ./known 1000'
share=$(of known /known$)
[ "$share" -gt 9850000 ] && [ "$share" -lt 10150000 ] || fail "known() of two processes is $share, not 10,010,000"
total=$(awk -F, '/^instructions/ { print $5 }' csv)
[ "$(awk -F, '/^function/ { on = 1; next } on { n += $3 } END { print n }' csv)" = "$total" ] ||
	fail "the sum is not $total"
[ "$(of '(in no sample)' '' 3)" -lt 4036 ] || fail "more than a period of each process is in no sample"
counted -e instructions -- "$BUILD/tests/count/recursion" >/dev/null && cp csv one &&
	counted -e instructions -- "$BUILD/tests/count/recursion" >/dev/null
cmp -s one csv || fail "the second run is another one"

# The vDSO: two instructions a call, where the kernel tells the time without a system call.
case $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || echo tsc) in
tsc | kvm-clock | hyperv_clocksource_tsc_page)
	counted -- ./known 1 clock
	awk -F, '$2 == "[vdso]" && $1 ~ /clock_gettime/ { n += $3 } END { exit !(n > 36000 && n < 44000) }' csv ||
		fail "the vDSO: $(grep vdso csv)"
	;;
esac

# An image whose segments do not lie side by side.
cat >apart.c <<'END'
__attribute__((noinline, section("apart"))) static void far_away(int n) { while (n--) asm(""); }
int main(void) { far_away(100000); }
END
gcc -O1 -no-pie -Wl,--section-start=apart=0x900000 -o apart apart.c || fail gcc
counted -- ./apart
[ "$(of far_away /apart$)" -gt 190000 ] || fail "a segment behind a gap: $(grep -m 3 -e apart -e unknown csv)"

# Separate files: by the name in the program, with its checksum; by build id; without either there are no names.
objcopy --only-keep-debug known known.debug && cp known bare && strip -s bare
cp bare linked && objcopy --add-gnu-debuglink=known.debug linked
counted -- ./linked 100
[ "$(of known /linked$)" -gt 190000 ] || fail "no names by the debug link: $(grep linked csv)"
mkdir -p .debug && mv known.debug .debug/
counted -- ./linked 100
[ "$(of known /linked$)" -gt 190000 ] || fail "no names by the debug link in .debug: $(grep linked csv)"
echo >>.debug/known.debug
counted -- ./linked 100
[ "$(of known /linked$)" = 0 ] && [ "$(of '[unknown]' /linked$)" -gt 190000 ] ||
	fail "a debug file of another program was taken"
counted -- ./bare 100
[ "$(of '[unknown]' /bare$)" -gt 190000 ] || fail "a stripped program: $(grep bare csv)"
if [ -w /usr/lib ]; then
	id=$(readelf -n known | awk '/Build ID/ { print $3 }')
	dir=/usr/lib/debug/.build-id/${id:0:2}
	made=$([ -d "$dir" ] || echo yes)
	mkdir -p "$dir" && objcopy --only-keep-debug known "$dir/${id:2}.debug"
	counted -- ./bare 100
	rm -f "$dir/${id:2}.debug"
	[ -z "$made" ] || rmdir "$dir"
	[ "$(of known /bare$)" -gt 190000 ] || fail "no names by the build id: $(grep bare csv)"
fi

# What perf says of the same samples. One CPU and perf's environment, as flame.sh explains.
if command -v perf >/dev/null; then
	mapfile -d '' environment < <(timeout -k 5 60 taskset -c 0 "$PCL" perf record --no-bpf-event -q -o data \
		-e instructions:u -- env -0)
	timeout -k 5 60 taskset -c 0 "$PCL" perf record -m 1024 --no-bpf-event -q -o data -e instructions:u -c 1009 \
		-- ./known 300 2>err || fail "perf record: $(cat err)"
	perf report -i data --stdio -s dso,sym -F sample,dso,sym 2>/dev/null |
		awk '$3 == "[.]" { sub(/@.*/, "", $4); n[$4] += $1 * 1009 } END { for (f in n) print f, n[f] }' |
		LC_ALL=C sort >want
	env -i "${environment[@]}" taskset -c 0 "$PCL" count --by-function -e instructions --csv -o csv \
		-- ./known 300 || fail "by function: $?"
	awk -F, '/^function/ { on = 1; next } on && $2 != "" && $1 != "[unknown]" { sub(/@.*/, "", $1); n[$1] += $3 }
		END { for (f in n) print f, n[f] }' csv | LC_ALL=C sort >got
	# The same function may have two names, and perf has two lines where two functions have one name.
	[ "$(wc -l <want)" -ge 5 ] && awk '{ print $2 }' want | sort -n >a &&
		awk '{ print $2 }' got | sort -n >b && cmp -s a b || fail "perf says otherwise: $(diff want got)"
fi

# The forms.
"$PCL" count --by-function -e instructions,page-faults -o table -- ./known 1000 || fail "table: $?"
for row in ' [0-9,]+ +9[0-9]\.[0-9] % .* known  known$' '\(in no sample\)$' \
	'^ instructions: the sum is exact; shares are of [0-9]+ samples, one each 1,009: 50 % is right to [0-9.]+ %, 1 % to [0-9.]+ %$' \
	'^ page-faults: each one is in the function that it is shown with$'; do
	grep -qE "$row" table || { fail "no line like $row"; cat table; }
done
grep -q '^ \[unknown\]: the file has no symbols' table && fail "symbols are missed where there are all"
"$PCL" count --by-function -o table -- ./bare 1000 &&
	grep -q '^ \[unknown\]: the file has no symbols there; its debug file ' table ||
	{ fail "missing symbols are not explained"; cat table; }
"$PCL" count --by-function --json -o json -- ./known 1000 || fail "JSON: $?"
python3 - json <<'END' || fail "JSON"
import json, sys
d = json.load(open(sys.argv[1]))
total = d["events"][0]["count"]
first = d["functions"][0]
assert first["function"] == "known" and first["file"].endswith("/known") and d["periods"] == [1009] and d["lost_records"] == 0
assert sum(f["counts"][0] for f in d["functions"]) + d["in_no_sample"][0] == total and d["samples"][0] == total // 1009
assert abs(first["counts"][0] - 2002000) <= max(first["errors"][0], 1) and 0 < first["errors"][0] < 200000
END

# Nobody reads for a while: what is lost is said (by the next record that finds room), and the sum stays exact.
"$PCL" count --by-function -c 20 -e instructions -o table -- \
	sh -c 'kill -STOP $PPID; ./known 20000; kill -CONT $PPID; sleep 0.5; ./known 1' || fail "stopped: $?"
grep -qE '^ [0-9]+ records found no room' table && grep -qE ' 40,[0-9,]+  instructions +exact' table ||
	{ fail "lost records are not said"; cat table; }

"$PCL" count --by-function -c 1 -e instructions --csv -o csv -- \
	sh -c 'kill -STOP $PPID; ./known 300; kill -CONT $PPID; sleep 0.5; ./known 1' 2>err || fail "stopped, -c 1: $?"
without=$(of '(in no sample)' '')
[ "$without" -gt 0 ] && [ "$(cat err)" = "pcl count: records of samples found no room: $without counts are not in any \
function (a greater --period helps)" ] || fail "lost records of -c 1 are not said with CSV: $without, $(cat err)"
"$PCL" count --by-function -c 1 -e instructions -o table -- \
	sh -c 'kill -STOP $PPID; ./known 300; kill -CONT $PPID; sleep 0.5; ./known 1' || fail "stopped, -c 1: $?"
grep -q 'each one that has a sample is in the function' table && grep -q '^ records of samples found no room' table ||
	{ fail "lost records of -c 1 are not said"; cat table; }
"$PCL" count --by-function -c 1 -e instructions --csv -o csv -- ./known 1 2>err && [ ! -s err ] ||
	fail "nothing is lost: $(cat err)"

# A function's count is right to a period or two at each end. The gate: which function it is, more and fewer, in all
# forms; nothing where nothing changed.
checked() { "$PCL" check --baseline=counts.json --name=known --by-function "$@" 2>err; }
checked --update -o /dev/null -- ./known 1000 || fail "check --update: $(cat err)"
checked -o table -- ./known 1000 && grep -q "no function's instructions changed by more than 0.1 % of all" table ||
	{ fail "the same"; cat table err; }
GITHUB_STEP_SUMMARY=$PWD/summary checked --github -o table -- ./known 1020
[ $? = 120 ] &&
	grep -qE '^ +2,00[0-9],[0-9]{3} +2,0[34][0-9],[0-9]{3} +\+(3[7-9]|4[0-3]),[0-9]{3}  known \(known\)$' table ||
	{ fail "more"; cat table; }
grep -qE '^\| known \(known\) \| 2,00[0-9,]+ \| 2,0[34][0-9,]+ \|$' summary || { fail "the summary"; cat summary; }
checked --json -o json -- ./known 900
python3 -c 'import json; f = json.load(open("json"))["functions"][0]
assert f["function"] == "known (known)" and -204000 < f["count"] - f["baseline"] < -196000' ||
	{ fail "fewer"; cat json; }
"$PCL" check --baseline=counts.json --name=known --update -o /dev/null -- ./known 1000 &&
	checked -o table -- ./known 1000
grep -q 'the baseline has no functions' table || { fail "a baseline without functions"; cat table; }
checked -o table -- sh -c 'kill -STOP $PPID; ./known 300000; kill -CONT $PPID; sleep 0.5; ./known 1'
grep -qE '^ [0-9]+ records found no room' table || { fail "check: lost records are not said"; cat table; }
"$PCL" flame -c 1 -o lost.svg -- sh -c 'kill -STOP $PPID; ./known 300; kill -CONT $PPID; sleep 0.5; ./known 1' 2>err
grep -qE '^pcl flame: records found no room, and [0-9]+ of instructions are missing' err ||
	fail "flame -c 1: lost records are not said: $(cat err)"
checked -r 2 -- ./known 1
[ $? = 125 ] && grep -q -- '--by-function is of one run' err || fail "-r 2: $(cat err)"

# Hash tables whose seed is an address: where they changed, it is said what that may be; else not.
cat >seeded.cc <<'END'
#include <stdlib.h>
namespace absl::hash_internal { __attribute__((noinline)) void mix(int n) { for (volatile int i = 0; i < n; i++); } }
__attribute__((noinline)) void other(int n) { for (volatile int i = 0; i < n; i++); }
int main(int, char **argv) { absl::hash_internal::mix(atoi(argv[1])); other(atoi(argv[2])); }
END
g++ -std=c++17 -O1 -o seeded seeded.cc && checked --update -o /dev/null -- ./seeded 20000 20000 &&
	checked -o table -- ./seeded 20000 19000 || fail "seeded: $(cat err)"
grep -q 'seeds from addresses' table && { fail "other functions are taken for hash tables"; cat table; }
checked -o table -- ./seeded 19000 20000 && grep -q '^ hash tables with seeds from addresses' table ||
	{ fail "seeds from addresses are not named"; cat table; }

refused() { words=$1; shift; "$PCL" count "$@" >out 2>err; got=$?; [ $got = 125 ] && grep -qF -- "$words" err &&
	[ "$(wc -l <err)" = 1 ] || fail "$*: $got: $(cat err)"; }
refused 'three forms' --by-function --per-thread -- true
refused 'of one run' --by-function -r 2 -- true
refused '--period takes a number above 0 and goes with --by-function' -c 1009 -- true
refused '--period takes a number above 0' --by-function -c 0 -- true
"$PCL" count --by-function -o table -- sh -c 'exit 9'
[ $? = 9 ] && grep -q 'ended with status 9' table || fail "the status"
exit $status
