/* What the files of tracefs hold, see tracefs.h. */
#ifndef PMU_TRACEFS_TEXTS_H
#define PMU_TRACEFS_TEXTS_H

#include "pmu/tracepoint.h"

/* The same in every session. */
extern const char tracefs_header_page[], tracefs_header_event[], tracefs_readme[];

/* A tracepoint's name and format file: the length. */
int tracefs_tracepoint_name(const struct tracepoint *tp, char *buf, size_t size);
long tracefs_format(const struct tracepoint *tp, char *buf, size_t size);

/* available_events: the length. */
size_t tracefs_available(char *buf, size_t size);

#endif
