/* What the processor at hand does well, measured. */
#ifndef DBT_PROBE_H
#define DBT_PROBE_H

#include "abi/types.h"

/*
 * Adds to one word in memory, one after the other, are as fast as adds to different words: the processor renames memory
 * (AMD since Zen 2, Intel since Golden Cove). Else each waits for the one before it, 4 to 7 cycles. Takes some 10 us.
 */
bool probe_one_word_is_fast(void);

#endif
