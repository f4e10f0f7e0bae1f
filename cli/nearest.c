/* See nearest.h. Distance: letters put in, left out, exchanged for others, and neighbours that changed places (Damerau,
 * restricted). */
#include <limits.h>
#include <string.h>
#include "abi/types.h"
#include "cli/nearest.h"

#define LONGEST 63

static unsigned distance_of(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 1], *before = row[0], *last = row[1], *now = row[2];
	size_t m = strlen(a), n = strlen(b);

	if (m > LONGEST || n > LONGEST)
		return UINT_MAX; /* nobody mistypes that much */
	for (size_t j = 0; j <= n; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned *free_row = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			now[j] = MIN(last[j - 1] + (a[i - 1] != b[j - 1]), MIN(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[n];
}

void nearest_try(struct nearest *n, const char *known)
{
	unsigned d = distance_of(n->word, known);

	/* A third of the letters may be wrong. */
	if (d > MAX(strlen(n->word), strlen(known)) / 3 || (n->best && d >= n->distance))
		return;
	n->best = known;
	n->distance = d;
}
