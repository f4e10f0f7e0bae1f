/*
 * EOVERFLOW: call chains deeper than perf_event_max_stack.
 * covers: EOVERFLOW
 */
#include "tests/abi/errno/perf.h"

int main(void)
{
	refused(EOVERFLOW, (a.sample_type = PERF_SAMPLE_CALLCHAIN, a.sample_max_stack = 60000));
	refused(0, (a.sample_type = PERF_SAMPLE_CALLCHAIN, a.sample_max_stack = 10));
	refused(0, a.sample_max_stack = 60000); /* nobody asks for a call chain */
	return perf_result();
}
