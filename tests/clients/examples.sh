#!/bin/bash
# examples/: those that need nothing but a compiler and Python; and that the README there names each file.
. "$ROOT/tests/clients/example_functions.bash"

# Three to seven instructions for each of 100,000 rounds, the same number each time.
gcc -O2 -Wall -Wextra -Werror -o count "$examples/count.c" || fail "count.c does not compile"
counts 300000 700000 pcl ./count
first=$n
counts "$first" "$first" pcl ./count
counts 1000000 50000000 pcl python3 "$examples/count.py"

"$examples/compare" true 'ls /' >out || fail "compare: status $?"
[ "$(awk '$2 == "instructions" && $3 > 1.5' out | wc -l)" = 1 ] && [ "$(wc -l <out)" = 2 ] || fail "compare: $(cat out)"
"$examples/compare" 'ls /' 'ls / && ls /' >out || fail "compare: two commands in one: status $?"
[ "$(awk '$3 > 1.5' out | wc -l)" = 1 ] || fail "compare: two commands in one: $(cat out)"
"$examples/compare" true false >out && fail "compare: a program that fails"

for file in "$examples"/*; do
	[ "${file##*/}" = README.md ] || grep -qF "(${file##*/})" "$examples/README.md" ||
		fail "examples/README.md does not name ${file##*/}"
done
exit $status
