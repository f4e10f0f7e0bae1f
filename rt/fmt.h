/*
 * Formatting without a C library.
 *
 * rt_vsnprintf understands %d %i %u %x %X %o %c %s %p %% with flags - 0 + # and space, width, precision (also *), and
 * the length modifiers hh h l ll z. It always terminates the buffer if size > 0 and returns the length that the whole
 * text would have, as snprintf(3) does.
 */
#ifndef RT_FMT_H
#define RT_FMT_H

#include <stdarg.h>
#include "abi/types.h"

int rt_vsnprintf(char *buf, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));
int rt_snprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As rt_snprintf at buf + at; returns the new end, never beyond size - 1. For building a text in steps. */
size_t rt_append(char *buf, size_t size, size_t at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Parses a whole unsigned number (decimal, or hexadecimal after 0x). Returns 0, or -22 (EINVAL) and leaves *out. */
int rt_parse_u64(const char *s, u64 *out);

#endif
