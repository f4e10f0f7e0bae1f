/* --dump: a fragment as it was made, one letter for each stage of the translator. */
#ifndef DBT_DUMP_H
#define DBT_DUMP_H

#include "dbt/cache.h"

/* Bits of dbt_options.dump, in the order of the letters in cli/options.def. */
#define DUMP_GUEST 1u	/* g: the guest's instructions, and what they do to the flags */
#define DUMP_DECIDED 2u /* d: entries and their distances, polls, where a block counts, registers that are spilled */
#define DUMP_HOST 4u	/* h: the host's bytes, by record */
#define DUMP_EXITS 8u	/* x: exits, and where they lead to */

/* To the log, if that is wanted of this fragment. With dbt_lock. */
void dump_frag(u32 frag);

#endif
