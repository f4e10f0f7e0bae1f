# PAPI and libpfm, where their headers are installed.
[ -e /usr/include/papi.h ] || { echo "PAPI is not installed"; exit 77; }
cat > t.c <<'END'
#include <papi.h>
#include <stdio.h>
int main(void) {
	int set = PAPI_NULL; long long v[2];
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) || PAPI_add_named_event(set, "perf::INSTRUCTIONS:u=1") ||
	    PAPI_add_named_event(set, "perf::BRANCHES:u=1") || PAPI_start(set)) return 1;
	for (volatile int i = 0; i < 1000; i++) ;
	if (PAPI_stop(set, v)) return 1;
	printf("%d\n", v[0] > 3000 && v[1] >= 1000);
	return !(v[0] > 3000 && v[1] >= 1000);
}
END
gcc -o t t.c -lpapi && "$PCL" ./t
