/* Parts of texts that are not terminated, for the definitions of probes. */
#ifndef PMU_PROBE_TEXT_H
#define PMU_PROBE_TEXT_H

#include "abi/types.h"

struct probe_part {
	const char *at;
	u32 len;
};

/* Characters up to a space, a newline or the end. */
u32 probe_word(const char *text);
/* Behind spaces; a newline is none. */
const char *probe_skip(const char *text);

bool probe_part_is(const struct probe_part *p, const char *text);
bool probe_part_same(const struct probe_part *a, const struct probe_part *b);
bool probe_part_begins(const struct probe_part *p, const char *text);
const char *probe_part_find(const struct probe_part *p, char c);
const char *probe_part_find_last(const struct probe_part *p, char c);

/* All of it is a number: decimal, or of base 0 as the kernel's kstrtoul(): 0x..., 0... */
bool probe_part_number(const struct probe_part *p, u32 base, u64 *out);
/* As the kernel's kstrtoul() of base 0: 0, -EINVAL, or -ERANGE if it is too large. The second takes a sign. */
int probe_part_unsigned(const struct probe_part *p, u64 *out);
int probe_part_signed(const struct probe_part *p, s64 *out);

/* Letters, digits and underscores, no digit first; a group's may have '-', too. */
bool probe_is_name(const struct probe_part *p, bool group);

#endif
