/*
 * Memory and string functions under their standard names: rt/string.c defines them in the runtime, the C library in
 * hosted programs (the Makefile leaves rt/string.c out there).
 */
#ifndef RT_STRING_H
#define RT_STRING_H

#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *haystack, const char *needle);

/*
 * A freestanding compiler takes them for functions like any other; but a copy of four bytes is to be a load and a
 * store.
 */
#if defined(PCL_RUNTIME) && !defined(RT_STRING_DEFINED_HERE)
#define memcpy(dst, src, n) __builtin_memcpy(dst, src, n)
#define memmove(dst, src, n) __builtin_memmove(dst, src, n)
#define memset(dst, c, n) __builtin_memset(dst, c, n)
#define memcmp(a, b, n) __builtin_memcmp(a, b, n)
#define strlen(s) __builtin_strlen(s)
#endif

#endif
