/* Names of the kernel's constants. All return constant text, or NULL for a value that has no name. */
#ifndef SHOW_NAMES_H
#define SHOW_NAMES_H

#include "abi/types.h"

const char *show_errno(int err); /* "EINVAL" for 22; also the kernel's own ERESTART* */
const char *show_signal(int signo); /* "SIGSEGV"; real-time signals as "SIGRT_n", n counted from 32 */

/* One named bit or multi-bit value. A table ends with a NULL name. */
struct show_flag {
	u64 value;
	const char *name;
};

/*
 * Appends the names of value's bits joined by '|', the rest in hexadecimal, `zero` if value is 0. Returns the new end,
 * as rt_append.
 */
size_t show_flags(char *buf, size_t size, size_t at, u64 value, const struct show_flag *table, const char *zero);

/* The name of an exact value, or NULL. */
const char *show_value(u64 value, const struct show_flag *table);

#endif
