#!/bin/bash
# examples/count_papi.c counts itself.
. "$ROOT/tests/clients/example_functions.bash"
needs test -e /usr/include/papi.h
gcc -O2 -Wall -Wextra -Werror -o count "$examples/count_papi.c" -lpapi || fail "count_papi.c does not compile"
LIBPFM_FORCE_PMU=amd64_fam19h_zen3 counts 300000 700000 pcl --processor=zen3 ./count
exit $status
