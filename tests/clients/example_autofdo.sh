#!/bin/bash
# examples/autofdo.sh: the compiler takes the branch stacks that pcl has sampled, and lays the program out better.
. "$ROOT/tests/clients/example_functions.bash"
needs perf --version
needs clang --version
needs create_llvm_prof --version
better autofdo.sh
exit $status
