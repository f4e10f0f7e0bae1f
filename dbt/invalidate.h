/* Forgetting translations, inside dbt/. The interface for os/ is in dbt/dbt.h. */
#ifndef DBT_INVALIDATE_H
#define DBT_INVALIDATE_H

#include "abi/types.h"

/* The fragment is not to be entered any more. With dbt_lock. */
void dbt_forget_frag(u32 frag);

/* The fragment's guest code has changed. Takes dbt_lock. */
void dbt_forget(u32 frag);

/* All that was made from the pages of [start, end). With dbt_lock. */
void dbt_forget_range(u64 start, u64 end);

/* For dbt_mend(), likewise, when all code is forgotten: no page is protected, whatever the table says. */
void invalidate_mend(void);

#endif
