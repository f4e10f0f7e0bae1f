#!/bin/bash
# pcl --pin: where the clock is virtual rdtsc is emulated, and faults all the same when the program has asked for that.
set -u
program=$BUILD/tests/transparency/tsc
diff <("$program") <("$PCL" --pin "$program")
