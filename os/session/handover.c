/* See handover.h. */
#include "os/session/handover.h"

#include <asm/errno.h>
#include "rt/string.h"

struct handover handover;

static bool take_hex(const char **s, u64 *out)
{
	const char *p = *s;

	for (*out = 0; *p && *p != ' '; p++) {
		if ((*p < '0' || *p > '9') && (*p < 'a' || *p > 'f'))
			return false;
		*out = *out << 4 | (u64)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	}
	if (p == *s || *p != ' ')
		return false;
	*s = p + 1;
	return true;
}

static bool take_words(const char **s, u32 *out, u32 n)
{
	u64 value;

	for (u32 i = 0; i < n; i++) {
		if (!take_hex(s, &value))
			return false;
		out[i] = (u32)value;
	}
	return true;
}

int handover_take(char *string, u64 *build)
{
	struct handover *h = &handover;
	const char *s = string;
	u32 word[HANDOVER_WORDS];
	u64 n[5];
	u32 path;
	size_t len;

	if (!take_hex(&s, build))
		return -EINVAL;
	if (*build != BUILD_ID)
		return -EXDEV;
	for (u32 i = 0; i < ARRAY_SIZE(n); i++)
		if (!take_hex(&s, &n[i]))
			return -EINVAL;
	if (!take_hex(&s, &h->sigmask) || !take_hex(&s, &h->sigign))
		return -EINVAL;
	if (!take_words(&s, word, HANDOVER_WORDS) || !take_words(&s, &h->nkept, 1) || h->nkept > HANDOVER_KEPT ||
	    !take_words(&s, h->kept, h->nkept))
		return -EINVAL;
	if (!take_words(&s, &path, 1) || path >= sizeof(h->path) || path > strlen(s) ||
	    strlen(s) - path >= sizeof(h->name))
		return -EINVAL;
	memcpy(h->path, s, path);
	h->path[path] = 0;
	s += path;
	memcpy(&h->config, word, sizeof(word));
	h->slot = (u32)n[0];
	h->fd = (u32)n[1];
	h->nr = (u32)n[2];
	h->ss_flags = (u32)n[3];
	h->interp = (u32)n[4];
	len = strlen(s) + 1;
	memcpy(h->name, s, len);
	memset(string, 0, (size_t)(s - string) + len);
	return 0;
}
