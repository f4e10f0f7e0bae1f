#!/bin/bash
# examples/count.go counts itself.
. "$ROOT/tests/clients/example_functions.bash"
needs go version
GOCACHE=$PWD/cache go build -o count "$examples/count.go" 2>err || fail "count.go does not compile: $(cat err)"
counts 300000 700000 pcl ./count
exit $status
