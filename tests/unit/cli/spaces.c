/* Address spaces of processes of which the first record is one that maps: those before it found no room. */
#include "cli/memory.c"
#include "cli/spaces.c"
#include "tests/unit/unit.h"

#define PROCESSES 1000u

static void test_first_record_maps(void)
{
	struct spaces s = {0};
	char path[] = "/tmp/a";

	for (u32 pid = 1; pid <= PROCESSES; pid++) {
		struct mapping m = {.start = 0x1000ul * pid, .end = 0x1000ul * pid + 0x1000, .path = path};

		spaces_map(&s, pid, pid, &m);
	}
	for (u32 pid = 1; pid <= PROCESSES; pid++) {
		struct who who = spaces_who(&s, pid, pid);
		const struct mapping *m = spaces_find(&s, who.space, who.generation, 0x1000ul * pid + 1);

		expect(m && m->start == 0x1000ul * pid && !strcmp(m->path, path));
		expect(!spaces_find(&s, who.space, who.generation, 0x1000ul * (pid + 1)));
	}
	spaces_free(&s);
}

int main(void)
{
	test_first_record_maps();
	return unit_result();
}
