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

#endif
