/*
 * In CPU_WANT_LOOSE code, the blocks that look at limits: one of every 8, wherever their addresses happen to put them, and loops of one block;
 * and those at which dbt_look() was called because a thread was found to be among others for long. Guarded by dbt_lock.
 */
#ifndef DBT_LOOKS_H
#define DBT_LOOKS_H

#include "abi/types.h"

enum look {
	LOOK_NOT,
	LOOK_IF_CHEAP,
	LOOK_ALWAYS,
};

/* Of the block at pc. */
enum look looks_at(u64 pc);

#endif
