/* The operators of a compiled filter's nodes, in postfix order: of event/filter_compile.c, for event/filter.c. */
#ifndef EVENT_FILTER_NODES_H
#define EVENT_FILTER_NODES_H

#include "event/filter.h"

enum op { /* of struct filter_node */
	OP_GLOB,
	OP_NE,
	OP_EQ,
	OP_LE,
	OP_LT,
	OP_GE,
	OP_GT,
	OP_BAND,
	OP_COMPARE_NR, /* how many compare; those that follow join */
	OP_AND,
	OP_OR,
	OP_NOT,
};

#define FILTER_DEPTH 64 /* conditions that wait for what they are joined with: bits of a word */

static inline bool filter_is_string(enum filter_kind kind)
{
	return kind == FILTER_STRING || kind == FILTER_CHARS || kind == FILTER_POINTER || kind == FILTER_USTRING ||
	       kind == FILTER_COMM;
}

static inline bool filter_is_signed(enum filter_kind kind)
{
	return (kind >= FILTER_S8 && kind <= FILTER_S64) || kind == FILTER_CPU;
}

#endif
