/* See stacks.h. */
#include <stdlib.h>
#include <string.h>
#include "cli/memory.h"
#include "cli/stacks.h"

#define FIRST_BUCKETS 4096u

static u64 hash_of(const struct who *who, u32 event, const u64 *ip, u32 nr)
{
	u64 h = ((u64)who->space << 32 | who->generation) * 0x9e3779b97f4a7c15ul ^ ((u64)who->comm << 8 | event);

	for (u32 i = 0; i < nr; i++) {
		h = (h ^ ip[i]) * 0x9e3779b97f4a7c15ul;
		h ^= h >> 29;
	}
	return h ^ h >> 32;
}

static u32 bucket_of(const struct stacks *s, const struct stack *st)
{
	return (u32)hash_of(&st->who, st->event, st->ip, st->nr) & (s->buckets - 1);
}

static void grow(struct stacks *s)
{
	struct stacks old = *s;

	s->buckets = old.buckets ? old.buckets * 4 : FIRST_BUCKETS;
	s->bucket = memory_zeroed(s->buckets, sizeof(*s->bucket));
	for (u32 i = 0; i < old.buckets; i++)
		for (struct stack *st = old.bucket[i], *next; st; st = next) {
			u32 to = bucket_of(s, st);

			next = st->next;
			st->next = s->bucket[to];
			s->bucket[to] = st;
		}
	free(old.bucket);
}

static bool is_same(const struct stack *st, const struct who *who, u32 event, const u64 *ip, u32 nr)
{
	return st->nr == nr && st->event == event && !memcmp(&st->who, who, sizeof(*who)) &&
	       !memcmp(st->ip, ip, nr * sizeof(*ip));
}

void stacks_add(struct stacks *s, const struct who *who, u32 event, const u64 *ip, u32 nr)
{
	struct stack **bucket, *st;

	if (s->nr >= s->buckets)
		grow(s);
	bucket = &s->bucket[hash_of(who, event, ip, nr) & (s->buckets - 1)];
	for (st = *bucket; st && !is_same(st, who, event, ip, nr); st = st->next)
		;
	if (!st) {
		st = memory_resize(NULL, 1, sizeof(*st) + nr * sizeof(*ip));
		*st = (struct stack){.next = *bucket, .who = *who, .event = event, .nr = nr};
		memcpy(st->ip, ip, nr * sizeof(*ip));
		*bucket = st;
		s->nr++;
	}
	st->samples++;
}

void stacks_each(const struct stacks *s, void (*see)(void *arg, const struct stack *), void *arg)
{
	for (u32 i = 0; i < s->buckets; i++)
		for (const struct stack *st = s->bucket[i]; st; st = st->next)
			see(arg, st);
}

void stacks_free(struct stacks *s)
{
	for (u32 i = 0; i < s->buckets; i++)
		for (struct stack *st = s->bucket[i], *next; st; st = next) {
			next = st->next;
			free(st);
		}
	free(s->bucket);
	*s = (struct stacks){0};
}
