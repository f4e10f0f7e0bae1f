#!/bin/sh
# BOLT: branch stacks that pcl sampled make layout.c's program faster, on a machine without counters.
# Needs perf and bolt (llvm-bolt).
set -eu
here=$(dirname "$0")
tool() { for t in "$1" "$1"-20 "$1"-19 "$1"-16 "$1"-15; do command -v "$t" && return; done; echo "no $1" >&2; exit 77; }
bolt=$(tool llvm-bolt) perf2bolt=$(tool perf2bolt)

# The linker keeps its relocations (-q); the flags stand for code that the compiler has laid out badly.
gcc -O2 -fno-guess-branch-probability -fno-reorder-blocks -Wl,-q -no-pie -o before "$here/layout.c"
pcl perf record -q -e branches:u -c 1009 -b -o perf.data ./before 300 >/dev/null
ln -sf "$perf2bolt" perf2bolt # it goes by its name, which Debian has changed
./perf2bolt -p perf.data -o branches.fdata ./before >bolt.log 2>&1
"$bolt" before -o after -data=branches.fdata \
	-reorder-blocks=ext-tsp -reorder-functions=hfsort -split-functions -split-all-cold >>bolt.log 2>&1
for program in before after; do
	pcl count --csv -o $program.csv -e instructions,cpu/branches_taken/ -- ./$program 300 >/dev/null
	echo "$program: $(awk -F, 'NR > 1 { printf "%s %s  ", $5, $1 }' $program.csv)"
done
