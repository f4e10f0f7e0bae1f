/* See refusals.h. */
#include "os/session/arena.h"
#include "os/session/process.h"
#include "os/session/refusals.h"
#include "os/session/thread.h"
#include "rt/string.h"

#define FNV_START 0xcbf29ce484222325ul
#define FNV_PRIME 0x100000001b3ul

static u64 hash(u64 h, const void *bytes, size_t len)
{
	for (const u8 *p = bytes; len; len--)
		h = (h ^ *p++) * FNV_PRIME;
	return h;
}

static u64 key_of(const struct refusals_row *r)
{
	u64 h = hash(FNV_START, &r->nr, sizeof(r->nr) + sizeof(r->err) + sizeof(r->comm));

	return hash(h, r->why, strlen(r->why)) | 1;
}

static void copy_text(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = 0;
}

void refusals_add(struct thread *t, long ret)
{
	struct refusals *all = &arena()->refusals;
	struct refusals_row new = {.nr = (u32)t->nr, .err = (s32)-ret};

	copy_text(new.comm, t->task->comm, sizeof(new.comm));
	copy_text(new.why, t->refusal.why, sizeof(new.why));
	new.key = key_of(&new);
	for (u32 i = 0; i < REFUSALS; i++) {
		struct refusals_row *r = &all->row[(new.key + i) % REFUSALS];
		u64 key = 0;

		if (__atomic_compare_exchange_n(&r->key, &key, new.key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			memcpy(&r->nr, &new.nr, sizeof(new) - offsetof(struct refusals_row, nr));
		else if (key != new.key)
			continue;
		__atomic_fetch_add(&r->count, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&all->others, 1, __ATOMIC_RELAXED);
}
