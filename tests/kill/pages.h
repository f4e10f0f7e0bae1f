/* The pages of pcl's shared memory that a member can find. */
#ifndef TESTS_KILL_PAGES_H
#define TESTS_KILL_PAGES_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef PAGE
#define PAGE 4096ul
#endif
#define LOOK_FROM 0x5b1000000000ul /* where pcl has its memory: rt/layout.h */
#define LOOK_TO 0x5b7000000000ul
#define OWN_FROM 0x5b2000000000ul  /* there it is the process's own, which need not be spoilt */
#define OWN_TO 0x5b5000000000ul
#define LOOK_STEP 0x40000000ul
#define EMPTY_MAX 8 /* steps; nothing comes behind so many */

/* Only what is there: all of it is sparse. */
static size_t find_pages(uint64_t **out)
{
	static unsigned char there[LOOK_STEP / PAGE];
	uint64_t *page = malloc(sizeof(*page) << 20);
	size_t n = 0, before, empty = 0;

	for (uint64_t at = LOOK_FROM; at < LOOK_TO; at += LOOK_STEP) {
		if (at >= OWN_FROM && at < OWN_TO)
			continue;
		if (empty < EMPTY_MAX && mincore((void *)at, LOOK_STEP, there)) {
			empty = 0;
			continue; /* not mapped, or not as a whole: that is what the runtime has for itself */
		}
		if (empty >= EMPTY_MAX) {
			empty = mincore((void *)at, PAGE, there) ? 0 : empty;
			continue;
		}
		before = n;
		for (size_t i = 0; i < LOOK_STEP / PAGE && n < 1 << 20; i++)
			if (there[i] & 1)
				page[n++] = at + i * PAGE;
		empty = n == before ? empty + 1 : 0;
	}
	*out = page;
	return n;
}

#endif
