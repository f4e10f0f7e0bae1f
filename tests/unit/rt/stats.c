/* Counting and printing statistics. */
#include "rt/stats.h"
#include "tests/unit/unit.h"

int main(void)
{
	static struct stats s, sum;
	char buf[4096];

	stat_inc(blocks); /* before there is a place: harmless */
	stats_place = &s;
	stat_inc(blocks);
	stat_add(blocks, 4);
	stat_add(lock_takeovers, 7);
	expect_long(s.blocks, 5);
	sum.blocks = 100;
	stats_sum(&sum, &s);
	expect_long(sum.blocks, 105);
	expect_long(sum.lock_takeovers, 7);
	expect_long(stats_print(buf, sizeof(buf), &s), strlen(buf));
	expect_str(buf, "               5  blocks translated\n"
			"               7  sections taken over from members that did not run\n");
	return unit_result();
}
