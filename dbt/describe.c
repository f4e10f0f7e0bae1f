/* A block in words, for who debugs: see dbt_describe(). Without a lock: what it reads may change meanwhile. */
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "rt/fmt.h"

/* The entry of that variant in front of pc or at it, in a fragment that goes beyond it. */
static u32 find_around(u32 variant, u64 pc)
{
	u32 found = 0;

	for (u32 i = cache.first_frag; i < cache.nfrag; i++) {
		const struct frag *f = &cache.frag[i];

		if (f->variant != variant || f->dead || f->poll || !f->nrec || pc < f->pc)
			continue;
		for (u32 k = f->entry; k < f->entry + f->nentry; k++)
			if (cache.entry[k].pc <= pc && (!found || cache.entry[k].pc > cache.entry[found].pc))
				found = k;
	}
	return found;
}

static size_t describe_entry(u32 id, char *buf, size_t size)
{
	const struct entry *e = &cache.entry[id];
	const struct frag *f = &cache.frag[e->frag];

	size_t at = rt_append(buf, size, 0, "at %#lx, entry %u at %#x of fragment %u ", e->pc, id, e->host, e->frag);

	at = rt_append(buf, size, at, "(guest %#lx, host %#x to %#x, %u entries, ", f->pc, f->host, f->host_end,
		       f->nentry);
	return rt_append(buf, size, at, "%u exits), variant %#x", f->nexit, cache.variant[f->variant].want);
}

size_t dbt_describe(const struct cpu *cpu, char *buf, size_t size)
{
	u32 variant = cache_variant(cpu->variant), id;
	size_t at;

	if (variant == NO_VARIANT)
		return rt_append(buf, size, 0, "none, no code of variant %#x", cpu->variant);
	id = cache_find(&cache.variant[variant], cpu->rip);
	if (!id)
		id = find_around(variant, cpu->rip);
	at = id ? describe_entry(id, buf, size) : rt_append(buf, size, 0, "none of variant %#x", cpu->variant);
	return rt_append(buf, size, at, "; the last exit was %u", (u32)cpu->exit_id);
}
