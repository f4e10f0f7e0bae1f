/* When the cache or one of its tables is full: start afresh. */
#ifndef DBT_FLUSH_H
#define DBT_FLUSH_H

#include "abi/types.h"

/* With dbt_lock. False: somebody is still in the half that is to be used next; release the lock and try again soon. */
bool flush_all(void);
/* Somebody is still in the half that is not in use. */
bool flush_would_wait(void);

#endif
