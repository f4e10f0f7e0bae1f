/*
 * Several members of a unit test's session: threads and processes, each with a section number of its own, of which one
 * that is gone may have left a section unfinished. Included once, in front of fake.h. sections_begin() after each
 * fake_session().
 */
#ifndef TESTS_UNIT_EVENT_SECTIONS_H
#define TESTS_UNIT_EVENT_SECTIONS_H

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "event/after.h"
#include "event/space.h"
#include "rt/section.h"

#define SECTIONS_MEMBERS 8

static __thread struct section sections_self;

struct section *section_self(void)
{
	return &sections_self;
}

/* Kernel thread ids of the members, in the place of journal 0. */
static inline pid_t *sections_tid(u32 number)
{
	return (pid_t *)section_host.journals + number;
}

/* From here on the calling thread is that member. */
static inline void sections_use(u32 number)
{
	*sections_tid(number) = (pid_t)syscall(SYS_gettid);
	sections_self = (struct section){.journal = section_journal(number), .number = number};
}

/* Nobody is stopped here: who lives is waited for. */
static enum section_fence sections_fence(u32 number)
{
	return syscall(SYS_tkill, *sections_tid(number), 0) ? FENCE_DEAD : FENCE_FAILED;
}

static inline char *sections_map_journals(void)
{
	void *mem = mmap(NULL, SECTIONS_MEMBERS * LAYOUT_JOURNAL_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		abort();
	return mem;
}

/* Before the session: member 1, and nothing noted yet. */
static inline void sections_before(char *journals)
{
	section_host = (struct section_host){.journals = journals, .fence = sections_fence, .after = event_after};
	sections_use(1);
}

static inline void sections_begin(void)
{
	section_host.noted = (char *)event_space;
	section_host.noted_size = event_space_size();
}

#endif
