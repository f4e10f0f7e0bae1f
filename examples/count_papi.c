/* The same by PAPI. cc -O2 count_papi.c -lpapi */
#include <papi.h>
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t sum;

int main(void)
{
	int set = PAPI_NULL, error = PAPI_library_init(PAPI_VER_CURRENT);
	long long count[2] = {0};

	if (error == PAPI_VER_CURRENT)
		error = PAPI_create_eventset(&set);
	if (!error)
		error = PAPI_add_named_event(set, "PAPI_TOT_INS");
	if (!error)
		error = PAPI_add_named_event(set, "PAPI_BR_INS");
	if (!error)
		error = PAPI_start(set);
	for (uint64_t i = 0; i < 100000; i++)
		sum += i;
	if (!error)
		error = PAPI_stop(set, count);
	if (error)
		fprintf(stderr, "PAPI: %s\n", PAPI_strerror(error));
	else
		printf("%lld instructions, %lld branches\n", count[0], count[1]);
	return !!error;
}
