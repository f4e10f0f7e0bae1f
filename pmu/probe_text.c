/* See probe_text.h. */
#include "pmu/probe_text.h"

#include <asm-generic/errno.h>
#include "rt/string.h"

u32 probe_word(const char *text)
{
	u32 n = 0;

	while (text[n] && text[n] != ' ' && text[n] != '\t' && text[n] != '\n')
		n++;
	return n;
}

const char *probe_skip(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

bool probe_part_is(const struct probe_part *p, const char *text)
{
	return p->len == strlen(text) && !memcmp(p->at, text, p->len);
}

bool probe_part_same(const struct probe_part *a, const struct probe_part *b)
{
	return a->len == b->len && !memcmp(a->at, b->at, a->len);
}

bool probe_part_begins(const struct probe_part *p, const char *text)
{
	return p->len >= strlen(text) && !memcmp(p->at, text, strlen(text));
}

const char *probe_part_find(const struct probe_part *p, char c)
{
	return p->len ? memchr(p->at, c, p->len) : NULL;
}

const char *probe_part_find_last(const struct probe_part *p, char c)
{
	for (u32 i = p->len; i--;)
		if (p->at[i] == c)
			return p->at + i;
	return NULL;
}

static u32 digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (u32)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (u32)(c - 'a') + 10 : 99;
}

static int parse_number(const struct probe_part *p, u32 base, u64 *out)
{
	bool overflow = false;
	u32 i = 0, first;

	if (!base) {
		base = 10;
		if (p->len > 1 && p->at[0] == '0') {
			base = (p->at[1] | 0x20) == 'x' ? 16 : 8;
			i = base == 16 ? 2 : 1;
		}
	}
	first = i;
	for (*out = 0; i < p->len && digit_of(p->at[i]) < base; i++)
		overflow |= __builtin_mul_overflow(*out, base, out) ||
			    __builtin_add_overflow(*out, digit_of(p->at[i]), out);
	if (overflow) /* Linux quirk: whatever follows. */
		return -ERANGE;
	return i == first || i < p->len ? -EINVAL : 0;
}

bool probe_part_number(const struct probe_part *p, u32 base, u64 *out)
{
	return !parse_number(p, base, out);
}

int probe_part_unsigned(const struct probe_part *p, u64 *out)
{
	return parse_number(p, 0, out);
}

int probe_part_signed(const struct probe_part *p, s64 *out)
{
	bool minus = p->len && *p->at == '-', sign = minus || (p->len && *p->at == '+');
	u64 n;
	int err = parse_number(&(struct probe_part){p->at + sign, p->len - sign}, 0, &n);

	if (err)
		return err;
	if (n > (1ul << 63) - !minus)
		return -ERANGE;
	*out = (s64)(minus ? -n : n);
	return 0;
}

bool probe_is_name(const struct probe_part *p, bool group)
{
	for (u32 i = 0; i < p->len; i++) {
		char c = p->at[i], letter = (char)(c | 0x20);

		if ((letter >= 'a' && letter <= 'z') || c == '_' || (i && c >= '0' && c <= '9') ||
		    (i && group && c == '-'))
			continue;
		return false;
	}
	return p->len;
}
