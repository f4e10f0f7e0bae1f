/* See probe_text.h. */
#include "pmu/probe_text.h"

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

bool probe_part_number(const struct probe_part *p, u32 base, u64 *out)
{
	u32 i = 0;

	if (!base) {
		base = 10;
		if (p->len > 1 && p->at[0] == '0') {
			base = (p->at[1] | 0x20) == 'x' ? 16 : 8;
			i = base == 16 ? 2 : 1;
		}
	}
	if (i >= p->len)
		return false;
	for (*out = 0; i < p->len; i++) {
		u32 digit = digit_of(p->at[i]);

		if (digit >= base || __builtin_mul_overflow(*out, base, out) ||
		    __builtin_add_overflow(*out, digit, out))
			return false;
	}
	return true;
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
