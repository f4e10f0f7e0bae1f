#!/bin/bash
# examples/Count.java: perf counts what is measured, and neither the start of the virtual machine nor the warm-up.
. "$ROOT/tests/clients/example_functions.bash"
needs java --version
needs perf --version
mkfifo ctl ack
pcl perf stat -x, -o stat -D -1 --control fifo:ctl,ack -e instructions:u -- \
	java -Xint "$examples/Count.java" >out 2>&1 || fail "status $?: $(cat out)"
n=$(awk -F, '$3 ~ /^instructions/ { print $1 }' stat)
[ "${n:-0}" -gt 3000000 ] && [ "$n" -lt 100000000 ] || fail "$(cat stat out)"
exit $status
