#!/bin/bash
# examples/count.go counts itself; the counts of a benchmark of go test repeat.
. "$ROOT/tests/clients/example_functions.bash"
needs go version
GOCACHE=$PWD/cache go build -o count "$examples/count.go" 2>err || fail "count.go does not compile: $(cat err)"
counts 300000 700000 pcl ./count
mkdir work && cd work || exit
printf 'module work\n' >go.mod
cat >work_test.go <<'END'
package work

import "testing"

var sum int

func BenchmarkSum(b *testing.B) {
	for i := 0; i < b.N; i++ {
		for j := range make([]int, 1000) {
			sum += j
		}
	}
}
END
# checked ITERATIONS OPTION...: as doc/ci.md has it.
checked()
{
	n=$1
	shift
	GOCACHE=$PWD/../cache go test -bench Sum -benchtime="$n"x \
		-exec "pcl --pin=+schedule check --baseline $PWD/counts.json --name Sum $* --" >out 2>&1
}
checked 100 --update || fail "go test --update: $(cat out)"
checked 100 && grep -q ' 0  instructions  *the same$' out || fail "go test: $(cat out)"
checked 200 && fail "go test: twice the work passes: $(cat out)"
grep -q '^ regression: ' out || fail "go test, twice the work: $(cat out)"
exit $status
