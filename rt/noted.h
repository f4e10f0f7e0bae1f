/*
 * Included in front of every file whose stores are noted (tools/build.mk): the compiler notes stores, but not what is
 * stored by the calls below. (memset)(...) is not noted: for memory that means nothing until the section is committed.
 */
#ifndef RT_NOTED_H
#define RT_NOTED_H

#include "rt/section.h"
#include "rt/string.h"

#undef memset
#undef memcpy
#undef memmove
#define memset(p, c, n) (section_note((p), (n)), __builtin_memset((p), (c), (n)))
#define memcpy(p, from, n) (section_note((p), (n)), __builtin_memcpy((p), (from), (n)))
#define memmove(p, from, n) (section_note((p), (n)), __builtin_memmove((p), (from), (n)))

#endif
