/*
 * What an execve of the guest's hands over to the new image of the runtime: as one more string, the last, of the
 * environment that the kernel copies there. So nobody but the two images sees it. The new one takes it out of what the
 * guest gets.
 */
#ifndef OS_HANDOVER_H
#define OS_HANDOVER_H

#include "abi/types.h"
#include "build_id.h"
#include "os/session/arena.h"
#include "rt/string.h"

#define HANDOVER_KEPT 280u /* words: 40 answers of the processor */

struct handover {
	u32 slot;	/* of the task */
	/* 1 + descriptor of the opened program; HANDOVER_BY_PATH: open `path`; 0: the launcher's, open `name` */
	u32 fd;
	u32 nr;		/* the system call; 0: the launcher's */
	u32 ss_flags;	/* of the alternate stack, which exec takes away but for these */
	u32 interp;	/* 1 + descriptor of the program's opened interpreter; 0: it has none, or none is open */
	u64 sigmask, sigign; /* signals that the kernel does not know as blocked or ignored, see os/sig/signal.h */
	struct session_config config;
	u32 nkept, kept[HANDOVER_KEPT]; /* see processor_hand_over() */
	char path[ARENA_PATH]; /* of what is executed, where no descriptor could be had for it; else "" */
	char name[ARENA_PATH]; /* AT_EXECFN as the guest is to see it */
};

#define HANDOVER_BY_PATH (~0u)

#define HANDOVER_WORDS (sizeof(struct session_config) / sizeof(u32))
#define HANDOVER_MAX (2 * ARENA_PATH + 120 + (HANDOVER_WORDS + 2 + HANDOVER_KEPT) * 9)

static inline char *handover_put(char *to, u64 value)
{
	u32 shift = 60;

	while (shift && !(value >> shift))
		shift -= 4;
	for (;; shift -= 4) {
		*to++ = "0123456789abcdef"[value >> shift & 15];
		if (!shift)
			break;
	}
	*to++ = ' ';
	return to;
}

/*
 * As a string, which has room for HANDOVER_MAX bytes: which build has made it, since another one's may have other
 * numbers; the numbers in the structure's order, the path and the name.
 */
static inline void handover_make(char *out, const struct handover *h, const char *path, const char *name)
{
	const u64 first[] = {BUILD_ID, h->slot, h->fd, h->nr, h->ss_flags, h->interp, h->sigmask, h->sigign};
	u32 word[HANDOVER_WORDS];

	for (u32 i = 0; i < ARRAY_SIZE(first); i++)
		out = handover_put(out, first[i]);
	memcpy(word, &h->config, sizeof(word));
	for (u32 i = 0; i < HANDOVER_WORDS; i++)
		out = handover_put(out, word[i]);
	out = handover_put(out, h->nkept);
	for (u32 i = 0; i < h->nkept; i++)
		out = handover_put(out, h->kept[i]);
	out = handover_put(out, strlen(path));
	memcpy(out, path, strlen(path));
	memcpy(out + strlen(path), name, strlen(name) + 1);
}

/* This image's; path[], name[] and the rest are the runtime's own copy. */
extern struct handover handover;

/*
 * 0; -EINVAL: it is no such string; -EXDEV: it is of another build, *build. Overwrites the string with zeroes unless it
 * fails.
 */
int handover_take(char *string, u64 *build);

/*
 * Into kept[]: what the processor has said that it would say again, when asked by instructions that pcl emulates. How
 * many words. The image that comes next need not ask.
 */
u32 processor_hand_over(u32 *words);

#endif
