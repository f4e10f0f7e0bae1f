/* In hosted programs that say nothing else: one thread, one journal, no notes, nobody to take anything over. */
#include "rt/section.h"

struct section *section_self(void)
{
	static struct section self;
	static struct journal journal;
	static char stack[SECTION_STACK];

	if (!self.journal) {
		self.journal = &journal;
		self.number = 1;
		self.kept_stack = stack;
		section_host.journals = (char *)((u64)&journal - LAYOUT_JOURNAL_SIZE);
	}
	return &self;
}
