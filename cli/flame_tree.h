/* Call stacks put together from their outer ends: each node is a function called from the nodes above it, below the
 * name of a task. */
#ifndef CLI_FLAME_TREE_H
#define CLI_FLAME_TREE_H

#include "cli/functions.h"
#include "cli/samples.h"

struct flame_node {
	const char *name, *file;   /* file: NULL for the root and the names of tasks */
	u64 samples;		   /* its own and those of all below */
	struct flame_node **child; /* in the order of names */
	u32 children;
};

/* Of the samples of one event, after the run. */
struct flame_node *flame_tree_make(const struct samples *s, struct functions *f);
void flame_tree_free(struct flame_node *n);

#endif
