# PAPI and libpfm, where their headers are installed and libpfm knows the processor: without a table for it PAPI has no perf events at all.
[ -e /usr/include/papi.h ] || { echo "PAPI is not installed"; exit 77; }
cat > t.c <<'END'
#include <papi.h>
#include <stdio.h>
#include <string.h>
static int unknown_processor(void) {
	const PAPI_component_info_t *c = PAPI_get_component_info(PAPI_get_component_index("perf_event"));
	if (!c || !strstr(c->disabled_reason, "no default PMU")) return 0;
	printf("%s\n", c->disabled_reason);
	return 1;
}
int main(void) {
	int set = PAPI_NULL; long long v[2];
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set)) return 1;
	if (unknown_processor()) return 77;
	if (PAPI_add_named_event(set, "perf::INSTRUCTIONS:u=1") || PAPI_add_named_event(set, "perf::BRANCHES:u=1") || PAPI_start(set)) return 1;
	for (volatile int i = 0; i < 1000; i++) ;
	if (PAPI_stop(set, v)) return 1;
	printf("%d\n", v[0] > 3000 && v[1] >= 1000);
	return !(v[0] > 3000 && v[1] >= 1000);
}
END
gcc -o t t.c -lpapi && "$PCL" ./t
