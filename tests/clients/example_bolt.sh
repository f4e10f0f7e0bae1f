#!/bin/bash
# examples/bolt.sh: BOLT takes the branch stacks that pcl has sampled, and lays the program out better.
. "$ROOT/tests/clients/example_functions.bash"
needs perf --version
compgen -c llvm-bolt >/dev/null && compgen -c perf2bolt >/dev/null || { echo "no BOLT"; exit 77; }
better bolt.sh
exit $status
