#!/bin/sh
# AutoFDO: the same samples told to the compiler. Needs perf, clang and autofdo (create_llvm_prof).
set -eu
here=$(dirname "$0")
for tool in clang create_llvm_prof; do command -v $tool >/dev/null || { echo "no $tool" >&2; exit 77; }; done

compile() { clang -O2 -gdwarf-4 -fdebug-info-for-profiling "$@" "$here/layout.c"; }
compile -o before
pcl perf record -q -e branches:u -c 1009 -b -o perf.data ./before 300 >/dev/null
# As text: of Debian's create_llvm_prof clang reads no other form. What it says of event type 82 is of no matter.
create_llvm_prof --binary=./before --profile=perf.data --format=text --out=profile.txt 2>autofdo.log
compile -fprofile-sample-use=profile.txt -o after
for program in before after; do
	pcl count --csv -o $program.csv -e instructions,cpu/branches_taken/ -- ./$program 300 >/dev/null
	echo "$program: $(awk -F, 'NR > 1 { printf "%s %s  ", $5, $1 }' $program.csv)"
done
