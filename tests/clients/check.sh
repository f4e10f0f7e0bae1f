#!/bin/bash
# pcl check: a baseline is written, kept to, and broken; what it says then to people, programs and GitHub; files that
# are none.
set -u
status=0
fail() { echo "$*"; status=1; }
hello=$BUILD/tests/count/hello_static
unset GITHUB_STEP_SUMMARY

# A program whose work is a number: some 4 instructions for each unit.
cat >work.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv) { for (volatile long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--); return argc > 2 ? 9 : 0; }
END
gcc -O1 -static -o work work.c || { echo "no static programs here"; exit 77; }

# check WANTED OPTION... -- PROGRAM...: the status, with the text in `said`.
check()
{
	want=$1
	shift
	"$PCL" check --baseline base.json "$@" >out 2>said
	got=$?
	[ $got = "$want" ] || { fail "check $*: status $got, not $want"; cat said; }
}
says() { grep -qE -- "$1" said || { fail "does not say $1:"; cat said; }; }

check 125 -- ./work 1000000
says 'base.json: No such file or directory \(--update makes it\)'
check 0 --name w --update -- ./work 1000000
says 'instructions +new$'
check 0 --name w -- ./work 1000000
says '^ +[0-9,]+ +[0-9,]+ +0  instructions +the same$'
says 'no regression \(tolerance 0.1 %\)'
check 120 --name w -- ./work 1002000
says '^ +[0-9,]+ +[0-9,]+ +\+0\.[0-9]+ %  instructions +REGRESSION$'
says 'regression: 2 of 2 counts above base.json by more than 0.1 %'
says '^ in which functions: pcl check --by-function'
check 0 --name w --tolerance 1% -- ./work 1002000
says 'within the tolerance'
check 120 --name w -t 0 -- ./work 1000001
check 0 --name w -- ./work 500000
says 'instructions +fewer$'
check 0 --name w --update -- ./work 1002000
check 0 --name w -t 0 -- ./work 1002000

# Several in a file, by the command line without a name. The others stay.
check 0 -u -e instructions,branches,cycles,task-clock -- "$hello"
check 0 -- "$hello"
says 'cycles +the same$'
says 'task-clock +not judged: measured or estimated$'
check 0 -e instructions,cpu/calls/ -- "$hello"
says 'cpu/calls/ +not in the baseline$'
check 0 -u --name mine -e '{cpu/event=0x12,name=mine/,r10:u},mem:0x401000/8:rw:u' -- "$hello"
check 0 --name mine -t 0 -- "$hello"
says '^ +[0-9,]+ +[0-9,]+ +0  mine +the same$'
says 'mem:0x401000/8:rw +the same$'
check 0 --name w -t 0 -r 3 -- ./work 1002000
check 125 --name x -- ./work 1
says 'has no benchmark "x"'
check 0 -u --name compress -- ./work 1
check 125 --name compres -- ./work 1
says 'is "compress" meant\?'
python3 - <<'END' || fail "the file"
import json
d = json.load(open("base.json"))
assert d["pcl-baseline"] == 1 and list(d["benchmarks"])[0] == "w" and len(d["benchmarks"]) == 4
w = d["benchmarks"]["w"]
assert w["command"] == ["./work", "1002000"] and w["counts"]["instructions"] > 3000000 and w["cpu"] and w["pcl"]
END

check 0 -u --name several -e instructions -e cpu/calls/ -- ./work 1
check 0 --name several -- ./work 1
says '  instructions +the same$'
says '  cpu/calls/ +the same$'

# A modifier that changes the count is part of what is compared: nothing is counted of guests of a virtual machine.
check 0 -u --name guests -e instructions:G,cpu/calls/G,branches:u -- ./work 1000
check 0 --name guests -- ./work 1000
says '^ +0 +0 +0  instructions:G +the same$'
says ' 0 +0 +0  cpu/calls/G +the same$'
check 120 --name guests -e branches,instructions:G -- ./work 2000

# Each rise from 0 is a regression, and no number of per cent.
sed -i 's/\("instructions:G":\)0/"instructions":0,\10/' base.json
check 120 --name guests -t 1000 -e instructions -- ./work 1000
says '^ +0 +[0-9,]+ +from 0  instructions +REGRESSION$'
check 120 --name guests --json -e instructions -- ./work 1000
python3 -c 'import json; assert json.load(open("said"))["events"][0]["change_percent"] is None' ||
	{ fail "JSON of a rise from 0"; cat said; }

# Names of any bytes: the file stays UTF-8, and the benchmark is found again.
odd=$(printf 'caf\xe9\n\x1b[31m')
check 0 -u --name "$odd" -- ./work 1
check 0 --name "$odd" -t 0 -- ./work 1
says '^ pcl check: caf\\xe9\\n\\x1b\[31m$'
check 0 --name "$odd" --json -- ./work 1
python3 -c 'import json
assert json.loads(open("said", "rb").read().decode())["name"] == "caf\ufffd\n\x1b[31m"
assert "caf\ufffd\n\x1b[31m" in json.loads(open("base.json", "rb").read().decode())["benchmarks"]' ||
	{ fail "names of any bytes"; cat -v said base.json; }
check 9 --name "$odd" -- ./work 1 x
[ "$(wc -l <said)" = 1 ] || fail "a message of several lines: $(cat -v said)"

# A gate that compares nothing does not pass.
check 125 --name w -e cycles -- ./work 1002000
says '^ nothing was compared: the baseline has none of these events \(--update writes them\)$'
check 0 --name measured -u -e task-clock -- ./work 1
check 125 --name measured -- ./work 1
says '^ nothing was compared: measured counts and estimates are not judged$'
check 125 --name measured -e task-clock,branches -- ./work 1
says '^ nothing was compared: no event is both in the baseline and exact or modelled$'
check 125 --name w --json -o json -e cycles -- ./work 1002000
says '^pcl check: w: nothing was compared: the baseline has none'
grep -q '"result":"nothing compared"' json || { fail "JSON of nothing"; cat json; }
check 125 --name w --github -e cycles -- ./work 1002000
says '^::error title=pcl check w::nothing was compared$'
cp base.json before_o.json
check 0 --name w --github -o table -- ./work 1002000
[ ! -s said ] && grep -q '^ pcl check: w$' table || { fail "-o"; cat said table; }
check 120 --name w --github -o table -- ./work 2000000
says '^::error title=pcl check w::instructions'
check 125 --name w -u -o no/such/place -- ./work 2000000
cmp -s base.json before_o.json || fail "the file was changed, although the table had no place"
"$PCL" --counters=1 check -b base.json --name w -u -e instructions,branches -- ./work 2000000 2>said
[ $? = 125 ] && grep -qE 'nothing is written: (instructions|branches) had to wait for a counter' said &&
	cmp -s base.json before_o.json || { fail "an estimate became a baseline"; cat said; }
check 0 --name one -u -e instructions -- ./work 1
sed 's/"instructions":/"instructions,branches":/' base.json >list.json
"$PCL" check -b list.json --name one -- ./work 1 2>said
[ $? = 125 ] || fail "a key that is a list: passes"

# A program that fails is not compared, and its status is the result; nor is the file changed.
cp base.json before.json
check 9 --name w --update -- ./work 1 x
says 'did not end well'
check 127 --name w --update -- ./no-such-program
check 125 --name w --update -e nothing -- ./work 1
cmp base.json before.json || fail "the file was changed"

# JSON, annotations, summary.
check 120 --name w --json -- ./work 2000000
python3 -c 'import json
d = json.load(open("said"))
assert d["result"] == "regression" and d["name"] == "w" and d["events"][0]["verdict"] == "regression"
assert 80 < d["events"][0]["change_percent"] < 110' || { fail "JSON"; cat said; }
GITHUB_STEP_SUMMARY=$PWD/summary.md check 120 --name w --github -- ./work 2000000
says '^::error title=pcl check w::instructions: [0-9,]+ -> [0-9,]+ \(\+[0-9.]+ %25, tolerance 0.1 %25\)$'
grep -qE '^\| instructions \| [0-9,]+ \| [0-9,]+ \| \+[0-9.]+ % \| REGRESSION \|$' summary.md &&
	grep -q '^\*\*Regression' summary.md || { fail "summary"; cat summary.md; }
GITHUB_STEP_SUMMARY=$PWD/summary.md check 0 --name w --github -- ./work 1002000
grep -q '^No regression' summary.md && [ "$(grep -c '^###' summary.md)" = 2 ] ||
	{ fail "second summary"; cat summary.md; }
grep -q '^::' said && fail "an annotation without a reason"
sed -i 's/"cpu":"[^"]*"/"cpu":"Other, 100%"/' base.json
check 0 --name w --github -- ./work 1002000
says '^::warning title=pcl check w::the baseline was made on another processor \(Other, 100%25\)$'
says 'libraries may choose other code'
check 0 --name w --update -- ./work 1002000
grep -q 'another processor' said && fail "the new baseline is said to be of another processor"
GITHUB_STEP_SUMMARY=$PWD/odd.md check 0 --github -u --name $'a|b\r\n<i>&amp; $x$ ~~y~~' -- ./work 1
grep -qxF '### pcl check: a\|b  \<i\>\&amp; \$x\$ \~\~y\~\~' odd.md || { fail "an odd name in the summary"; cat odd.md; }
GITHUB_STEP_SUMMARY=/dev/full check 125 --github -u --name w -- ./work 1002000
says '^pcl check: cannot write GITHUB_STEP_SUMMARY \(/dev/full\): No space left on device$'
check 0 -u --name 'a:b,c' -- ./work 1
check 120 --github --name 'a:b,c' -- ./work 1000
says '^::error title=pcl check a%3Ab%2Cc::'

# Files that are none, options that are wrong.
for text in '' '{' '[]' '{}' '{"pcl-baseline":1}' '{"pcl-baseline":2,"benchmarks":{}}' \
	'{"pcl-baseline":1,"benchmarks":{"w":{}}}' '{"pcl-baseline":1,"benchmarks":{"w":1}}' \
	'{"pcl-baseline":1,"benchmarks":{"w":{"counts":{"instructions":"many"}}}}' \
	'{"pcl-baseline":1,"benchmarks":{"w":{"counts":{"instructions":-1}}}}' \
	'{"pcl-baseline":1,"benchmarks":{"w":{"counts":{"instructions":1.5}}}}'; do
	echo "$text" >base.json
	check 125 --name w --update -- ./work 1
	says '^pcl check: base.json (is|has)'
	[ "$(cat base.json)" = "$text" ] || fail "$text was changed"
done
# not WORDS TEXT: why it is no baseline.
not()
{
	echo "$2" >base.json
	check 125 --name w -- ./work 1
	says "^pcl check: base.json $1\$"
	[ "$(wc -l <said)" = 1 ] || fail "more than a line: $(cat said)"
}
not 'is JSON, but not an object as a baseline of pcl check is' null
not 'is JSON, but not an object as a baseline of pcl check is' 5
not 'is empty' ''
not 'is not JSON' nothing
not 'has text behind its JSON value' '{"pcl-baseline":1,"benchmarks":{}} {"more":1}'
not 'is nested deeper than any baseline' "$(printf '[%.0s' {1..1000})"
not 'has a benchmark "\\x1b\[31m" that has no counts' '{"pcl-baseline":1,"benchmarks":{"\u001b[31m":{}}}'
for name in '' 'a\nb' '\u001b[31m'; do
	not "has a benchmark \"w\" that has a count of what cannot be an event's name" \
		'{"pcl-baseline":1,"benchmarks":{"w":{"counts":{"'"$name"'":1}}}}'
done
not 'has a benchmark "w" that has counts of no event' '{"pcl-baseline":1,"benchmarks":{"w":{"counts":{}}}}'
# file WORDS PATH: the same of what is no file.
file()
{
	timeout 20 "$PCL" check -u -b "$2" -- ./work 1 >out 2>said
	[ $? = 125 ] || fail "$2: accepted"
	says "^pcl check: $2 $1\$"
}
mkdir -p dir && mkfifo fifo
file 'is a directory, and a baseline is a file' dir
file 'is not a regular file, as a baseline is' fifo
file 'is not a regular file, as a baseline is' /dev/full
file 'is not a regular file, as a baseline is' /dev/zero
truncate -s 1G huge.json
file 'is greater than any baseline: 16 MiB' huge.json
ln -s nowhere dangling.json
file 'is a symbolic link to a file that is not there' dangling.json
rm -f base.json
check 0 --name w -u -- ./work 1

# Through a symbolic link the file is written that it leads to.
mkdir -p elsewhere && mv base.json elsewhere/ && ln -s elsewhere/base.json base.json
check 0 --name v -u -- ./work 1
[ -L base.json ] && grep -q '"v"' elsewhere/base.json || fail "the link was replaced"

# Who waits for another process that has the lock can be ended.
mkdir locked
exec 8<locked
flock 8
"$PCL" check -b locked/base.json -n w -u -e instructions -- sh -c './work 1; echo >ended' 8<&- 2>said &
while ! [ -s ended ]; do sleep 0.1; done
sleep 1
kill -TERM $!
wait $!
[ $? = 125 ] || fail "ended while it waited for the lock: $?"
exec 8<&-
says '^pcl check: cannot lock locked, where locked/base.json is: Interrupted system call$'

# Updates at the same time: none is lost.
for i in 1 2 3 4 5 6; do
	"$PCL" check -b together.json -n "n$i" -u -e instructions -- ./work 1 2>/dev/null &
done
wait
[ "$(grep -o '"n[1-6]"' together.json | sort -u | wc -l)" = 6 ] || { fail "updates were lost"; cat together.json; }

# Numbers of a baseline that are no counts.
counts() { # counts, functions, what pcl says
	printf '{"pcl-baseline": 1, "benchmarks": {\n"w": {"counts": {"instructions": %s}, "functions": %s}}}' "$1" "$2" >numbers
	"$PCL" check -b numbers --name w -- ./work 1 >out 2>said
	got=$?
	[ "$got $(wc -l <said)" = '125 1' ] || { fail "counts $1, functions $2: status $got"; cat said; }
	says "$3"
}
counts 18446744073709551616 '{}' '^pcl check: numbers:2: a number above 18446744073709551615, which no count can be$'
counts 0 '{"instructions": {"main": 99999999999999999999}}' '^pcl check: numbers:2: a number above '
for wrong in -1 -99999999999999999999 1.5 1e30 99999999999999999999.0 '"7"'; do
	counts "$wrong" '{}' 'benchmark "w" that has a count that is not a whole number$'
	counts 0 "{\"instructions\": {\"main\": $wrong}}" 'a function whose count is not a whole number$'
done
counts 0 7 'has functions that are no object$'
counts 0 '{"instructions": 7}' 'has an event whose functions are no object$'
printf '{"pcl-baseline": 1, "benchmarks": {"\\"99999999999999999999": {"counts": {"instructions": 18446744073709551615}}}}' >numbers
"$PCL" check -b numbers --name '"99999999999999999999' -- ./work 1 2>said || fail "the greatest count is refused"
says '^ *18,446,744,073,709,551,615 .*instructions +fewer$'

for wrong in --runs=0 --runs=-0 --runs=2147483648 --runs= --nothing; do
	check 125 $wrong -- ./work 1
	[ "$(wc -l <said)" = 1 ] || { fail "$wrong is not refused in one line"; cat said; }
done
for wrong in '' % 0x10 -0 -1 +1 ' 1' x 1%% nan inf 1e400 1000001; do
	check 125 "--tolerance=$wrong" -- ./work 1
	says "^pcl check: wrong option --tolerance=.*: the form is --tolerance=PERCENT, a number from 0 to 1000000, as 0.1%$"
done
check 125 -t nan -- ./work 1
says '^pcl check: wrong option -t nan: the form is'
"$PCL" check -- ./work 1 2>said && fail "no baseline: accepted"
says '--baseline=FILE must be given'
mkdir directory && chmod 555 directory
if [ "$(id -u)" != 0 ]; then
	"$PCL" check -b directory/base.json -u -- ./work 1 2>said
	[ $? = 125 ] || fail "written to a directory that cannot be"
fi
"$PCL" check -b no/such/base.json -u -- ./work 1 2>said
[ $? = 125 ] || fail "written to nowhere"
exit $status
