/* What no guest may map: pcl's own addresses. See vma.h. */
#include "os/mm/vma.h"
#include "rt/layout.h"

bool vma_reserved(gva start, gva end)
{
	return start < LAYOUT_END && end > LAYOUT_BASE;
}

gva vma_piece_locked(gva *at, gva end)
{
	const struct vma *v;

	if (*at >= LAYOUT_BASE && *at < LAYOUT_END)
		*at = LAYOUT_END;
	while ((v = vma_next_locked(*at)) && v->kind == VMA_HOST && v->start <= *at)
		*at = v->end;
	while (v && v->start < end && v->kind != VMA_HOST)
		v = vma_next_locked(v->end);
	if (v && v->start < end)
		end = v->start;
	if (*at < LAYOUT_BASE && end > LAYOUT_BASE)
		end = LAYOUT_BASE;
	return *at < end ? end : 0;
}
