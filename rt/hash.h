/*
 * A hash of memory in four lanes, for names and against bytes that were damaged: each step is a bijection of its
 * lane, so one word that differs is always noticed. No defence against somebody who means to deceive.
 */
#ifndef RT_HASH_H
#define RT_HASH_H

#include "abi/types.h"
#include "rt/string.h"

struct hash {
	u64 lane[4];
};

#define HASH_STEP 32u /* bytes; hash_add() takes multiples of it */
#define HASH_AHEAD 2048u

static inline struct hash hash_begin(u64 seed)
{
	return (struct hash){{seed ^ 0x9e3779b97f4a7c15ul, seed + 0xc2b2ae3d27d4eb4ful, seed ^ 0x165667b19e3779f9ul,
			      seed + 0x27d4eb2f165667c5ul}};
}

static inline u64 hash_word(u64 lane, u64 word)
{
	lane = (lane ^ word) * 0x9fb21c651e98df25ul;
	return lane ^ lane >> 29;
}

/*
 * The lanes are variables of their own, so that they are in registers; and what comes so far behind is asked for, since
 * the processor does not do that over the end of a page. Each makes it twice as fast.
 */
static inline void hash_add(struct hash *h, const void *p, size_t len)
{
	u64 a = h->lane[0], b = h->lane[1], c = h->lane[2], d = h->lane[3], word[4];

	for (const u8 *at = p; len >= HASH_STEP; len -= HASH_STEP, at += HASH_STEP) {
		__builtin_prefetch((const void *)((uintptr_t)at + HASH_AHEAD));
		memcpy(word, at, HASH_STEP);
		a = hash_word(a, word[0]);
		b = hash_word(b, word[1]);
		c = hash_word(c, word[2]);
		d = hash_word(d, word[3]);
	}
	*h = (struct hash){{a, b, c, d}};
}

static inline u64 hash_end(const struct hash *h)
{
	u64 sum = h->lane[0];

	for (unsigned i = 1; i < 4; i++)
		sum = hash_word(sum, h->lane[i]);
	return hash_word(sum, sum >> 32);
}

/* Of so many bytes, any number. */
static inline u64 hash_of(const void *p, size_t len, u64 seed)
{
	struct hash h = hash_begin(seed + len);
	u8 rest[HASH_STEP] = {0};

	hash_add(&h, p, len);
	memcpy(rest, (const u8 *)p + len / HASH_STEP * HASH_STEP, len % HASH_STEP);
	hash_add(&h, rest, HASH_STEP);
	return hash_end(&h);
}

/* FNV-1a, byte by byte from FNV_BEGIN on: for names, as they are read. */
#define FNV_BEGIN 0xcbf29ce484222325ul

static inline u64 fnv_add(u64 hash, u8 byte)
{
	return (hash ^ byte) * 0x100000001b3ul;
}

#endif
