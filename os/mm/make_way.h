/*
 * The code cache gives way to what the guest wants below 2 GiB: a program's segments, MAP_FIXED, hints, brk.
 *
 * It has two halves, each with addresses of its own, which are VMA_HOST in the guest's map. A half that is in the way
 * goes to the highest place that has room for twice its size, so that libraries find room, too; smaller if it must be.
 * Which place that is depends on the guest's map alone, so it is the same in every run.
 *
 * It stays, and the guest's call is refused as for all VMA_HOST memory, where no place is left; when a thread does not
 * leave the half for seconds (it is stopped by a debugger, or waits for a page that userfaultfd(2) is to bring); and
 * once the guest has asked for a seccomp filter, which may kill for a call of pcl's own.
 */
#ifndef OS_MAKE_WAY_H
#define OS_MAKE_WAY_H

#include "abi/types.h"

/* The halves are entered into a new map. */
void make_way_init_locked(void);

/* vma_lock(), and the cache is not in [start, end) any more, if that can be. */
void make_way_lock(gva start, gva end);

/*
 * The same for what natively succeeds only if the addresses are free: the cache moves if nothing but it is there.
 * `hint`: the guest may be given other addresses, which is done after it has asked for many.
 */
void make_way_lock_free(gva start, gva end, bool hint);

/* One of these, for mmap(2) of whole pages with those arguments. */
void make_way_lock_mmap(gva addr, u64 len, int flags);

/* Whether there is a place for the cache while nothing is mapped but a program that spans [start, end). */
bool make_way_has_room(gva start, gva end);

#endif
