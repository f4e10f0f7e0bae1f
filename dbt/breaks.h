/* The set of execution breakpoints of this process, inside dbt/; dbt_break_set() is in dbt/dbt.h. */
#ifndef DBT_BREAKS_H
#define DBT_BREAKS_H

#include "abi/types.h"

/* With dbt_lock. */
bool breaks_at(gva pc);

#endif
