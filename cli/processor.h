/* Whose event encodings the `cpu` PMU takes: pmu/processors.def. */
#ifndef CLI_PROCESSOR_H
#define CLI_PROCESSOR_H

#include "abi/types.h"

struct processor_event {
	u32 processors; /* bit per row of pmu/processors.def */
	u64 config;
	const char *name, *class, *differs;
};

/* The events that are counted. */
extern const struct processor_event processor_events[];
extern const size_t processor_nr_events;

/*
 * By its name in pmu/processors.def; NULL: that of --cpu (pin_chosen()), or this machine's. Once, before the others are
 * asked. 0, or -1 after a message: there is none.
 */
int processor_choose(const char *name);

/* The processor's own name for itself, without spaces around it; "unknown". */
const char *processor_brand(void);

/* The row. */
u32 processor_chosen(void);
const char *processor_text(void);

/* "event=0xc4,umask=0x20", in a buffer that the next call uses again. */
const char *processor_terms(u64 config);

/* The class of an event that some processor has, NULL: none has one of this number that is counted. */
const char *processor_class_of(u64 config);

#endif
