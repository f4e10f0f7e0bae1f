/*
 * A tree of call stacks as an SVG that needs nothing else: outermost at the bottom, each width the share of samples,
 * titles with names and numbers, and a script (flame.js) that zooms and searches. The same tree makes the same bytes.
 */
#ifndef CLI_FLAME_SVG_H
#define CLI_FLAME_SVG_H

#include <stdio.h>
#include "cli/flame_tree.h"

struct flame_picture {
	const struct flame_node *root;
	char **argv; /* its heading */
	const char *event;
	const char *note; /* below it: what is to be known about the numbers */
	u64 period;
	bool is_time;
	double smallest; /* share of the whole, 1 is all: narrower ones are left out */
};

void flame_svg_write(const struct flame_picture *p, FILE *f);

#endif
