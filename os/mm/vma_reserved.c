/* What no guest may map: pcl's own addresses. See vma.h. */
#include "os/mm/vma.h"
#include "rt/layout.h"

static const struct {
	gva start, end;
} reserved[] = {
	{LAYOUT_CACHE, LAYOUT_CACHE + LAYOUT_CACHE_SIZE},
	{LAYOUT_BASE, LAYOUT_END},
};

bool vma_reserved(gva start, gva end)
{
	for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++)
		if (start < reserved[i].end && end > reserved[i].start)
			return true;
	return false;
}

gva vma_piece(gva *at, gva end)
{
	for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (*at >= reserved[i].start && *at < reserved[i].end)
			*at = reserved[i].end;
		if (*at < reserved[i].start && end > reserved[i].start)
			end = reserved[i].start;
	}
	return *at < end ? end : 0;
}
