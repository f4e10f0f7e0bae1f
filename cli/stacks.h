/* Samples that are the same, counted together: same event, task's name, address space and addresses. */
#ifndef CLI_STACKS_H
#define CLI_STACKS_H

#include "abi/types.h"
#include "cli/spaces.h"

#define STACK_MAX 512 /* addresses; a chain of the kernel has 127 at most */

struct stack {
	struct stack *next; /* private: in its bucket */
	u64 samples;
	struct who who;
	u32 event, nr;
	u64 ip[]; /* the sampled instruction first, then return addresses outwards */
};

struct stacks {
	struct stack **bucket;
	u32 buckets, nr; /* buckets: a power of two */
};

void stacks_add(struct stacks *s, const struct who *who, u32 event, const u64 *ip, u32 nr);

/* Each once, in no order. */
void stacks_each(const struct stacks *s, void (*see)(void *arg, const struct stack *), void *arg);

void stacks_free(struct stacks *s);

#endif
