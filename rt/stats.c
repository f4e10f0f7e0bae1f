/* Statistics of a session; see stats.h. */
#include "rt/fmt.h"
#include "rt/stats.h"

static struct stats nowhere;
struct stats *stats_place = &nowhere;

static const char *const texts[] = {
#define STAT(name, text) text,
#include "rt/stats.def"
#undef STAT
};

_Static_assert(sizeof(struct stats) == sizeof(texts) / sizeof(texts[0]) * sizeof(u64), "one u64 per row");

void stats_sum(struct stats *to, const struct stats *from)
{
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		((u64 *)to)[i] += __atomic_load_n((const u64 *)from + i, __ATOMIC_RELAXED);
}

size_t stats_print(char *buf, size_t size, const struct stats *s)
{
	const u64 *value = (const u64 *)s;
	size_t at = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		u64 v = __atomic_load_n(&value[i], __ATOMIC_RELAXED);

		if (v)
			at = rt_append(buf, size, at, "%16lu  %s\n", v, texts[i]);
	}
	return at;
}
