/* See forms.h. */
#include <cpuid.h>
#include <stdio.h>
#include "abi/types.h"
#include "cli/forms.h"
#include "cli/launch.h"
#include "cli/processor.h"
#include "dbt/probe.h"

/* As in /proc/cpuinfo. */
static void print_processor(void)
{
	u32 a = 0, b, c, d, family, model;

	__get_cpuid(1, &a, &b, &c, &d);
	family = a >> 8 & 15;
	model = a >> 4 & 15;
	if (family == 6 || family == 15)
		model |= a >> 12 & 0xf0;
	if (family == 15)
		family += a >> 20 & 255;
	printf("%s, family %u model %u\n\n", processor_brand(), family, model);
}

static double cycles(u64 ticks, const struct processor_probe *p)
{
	return (double)ticks * PROBE_PRODUCT_CYCLES / (double)p->products;
}

int forms_check(const struct options *o)
{
	struct processor_probe p;

	if (o->landing != LANDING_ADCX)
		return 0;
	probe_processor(&p);
	if (p.has_adcx)
		return 0;
	fprintf(stderr, "pcl: --landing=adcx: this processor has no instruction adcx, or no rorx\n");
	return LAUNCH_FAILED;
}

int forms_print(void)
{
	static const char landings[][8] = {[LANDING_LOOP] = "loop", [LANDING_JRCXZ] = "jrcxz", [LANDING_ADCX] = "adcx"};
	struct processor_probe p;

	probe_processor(&p);
	print_processor();
	printf("%6s  %-50s %s\n", "cycles", "each of many, one after the other", "so pcl chooses");
	printf("%6.1f  %-50s --top-byte=%s\n", cycles(p.bswaps, &p), "swaps of a register's bytes",
	       probe_bswap_is_fast(&p) ? "bswap" : "load");
	printf("%6.1f  %-50s --landing=%s\n", cycles(p.loops, &p), "rounds of the instruction loop",
	       landings[probe_landing(&p)]);
	printf("\nA cycle is a third of what a product of registers takes. The options force a form.\n");
	return fflush(stdout) ? LAUNCH_FAILED : 0;
}
