/* struct perf_event_attr in words. */
#ifndef SHOW_ATTR_H
#define SHOW_ATTR_H

#include "abi/types.h"

/*
 * Appends {type=HARDWARE, size=128, config=INSTRUCTIONS, read_format=ID, disabled, exclude_kernel}: what is 0 is left
 * out, apart from type, size and config. attr points to len bytes as the guest gave them, which may be fewer or more
 * than this header's structure has. Returns the new end, as rt_append.
 */
size_t show_attr(char *buf, size_t size, size_t at, const void *attr, size_t len);

/* The same of struct perf_event_hw_event of 2009: {config=HARDWARE|INSTRUCTIONS, irq_period=1000, flags=disabled}. */
struct perf_hw_event_2009;
size_t show_hw_event(char *buf, size_t size, size_t at, const struct perf_hw_event_2009 *hw);

#endif
