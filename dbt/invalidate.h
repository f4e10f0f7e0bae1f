/* Forgetting translations, inside dbt/. The interface for os/ is in dbt/dbt.h. */
#ifndef DBT_INVALIDATE_H
#define DBT_INVALIDATE_H

#include "abi/types.h"

/* The fragment's guest code has changed. Takes dbt_lock. */
void dbt_forget(u32 frag);

#endif
