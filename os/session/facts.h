/*
 * What only /proc knows about other tasks (os/session/proc.h), for those who ask in a section.
 *
 * A section must not open a file: it may be left at any instruction, with the file open, and be begun again. So who
 * asks for something that is not known yet leaves the section, which then has not happened; the answer is fetched
 * outside and kept; and the section restarts (section_leave_for()). It finds the answer when it comes to the same
 * place. Answers are good for that section only, the next one asks again.
 */
#ifndef OS_FACTS_H
#define OS_FACTS_H

#include "abi/types.h"

enum fact { FACT_CLOCK, FACT_FAULTS_MIN, FACT_FAULTS_MAJ, FACT_SWITCHES, FACT_MIGRATIONS, FACT_CPU, FACTS };

struct known_fact;

/* A thread's own. */
struct facts {
	u64 serial; /* of the section that they are for, section.serial */
	u64 no_room; /* the same of one that there was no memory for */
	u32 n, room; /* how many; how many places, 0 or a power of 2 */
	struct known_fact *known;
};

/* About a task that exists. 0 or -errno. */
int facts_ask(u32 slot, enum fact what, u64 *out);

/* The thread ends. */
void facts_end(struct facts *f);

#endif
