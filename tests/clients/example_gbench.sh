#!/bin/bash
# examples/check-gbench keeps the counts of each benchmark of a Google Benchmark program, and finds a regression.
. "$ROOT/tests/clients/example_functions.bash"
needs test -e /usr/include/benchmark/benchmark.h
build() { g++ -O2 -Wall -Wextra -Werror -o bench "$1" -lbenchmark -lpthread || fail "$1 does not compile"; }
build "$examples/bench.cc"
"$examples/check-gbench" ./bench --update 2>err || fail "--update: $(cat err)"
"$examples/check-gbench" ./bench 2>err || fail "status $?: $(cat err)"
[ "$(grep -c ' 0  instructions  *the same$' err)" = 3 ] || fail "$(cat err)"
sed 's/numbers(10000, 1)/numbers(11000, 1)/' "$examples/bench.cc" >more.cc
build more.cc
"$examples/check-gbench" ./bench 2>err
[ $? = 120 ] && grep -q '^ regression: ' err || fail "more work: $(cat err)"
grep -A4 '^ pcl check: sum' err | grep -q 'instructions  *REGRESSION$' || fail "which one: $(cat err)"
"$examples/check-gbench" ./no-such-program 2>err && fail "a program that is not there"
"$examples/check-gbench" true 2>err
[ $? = 125 ] && grep -q 'lists no benchmark' err || fail "a program without benchmarks: $(cat err)"
# What --benchmark_perf_counters says, where the library has libpfm (Debian's has not).
if ldd ./bench | grep -q libpfm; then
	pcl ./bench --benchmark_perf_counters=INSTRUCTIONS 2>err | grep -q 'INSTRUCTIONS=' ||
		fail "no counters: $(cat err)"
fi
exit $status
