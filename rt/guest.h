/*
 * Access to guest memory that may fault. Each returns 0 or -14 (EFAULT); the copy functions may have copied a part.
 * The runtime's fault handler finds the faulting instruction in guest_fault_fixup() and continues there. Hosted unit
 * tests link rt/guest.c too: without a handler a bad address simply crashes the test.
 */
#ifndef RT_GUEST_H
#define RT_GUEST_H

#include "abi/types.h"

int guest_read(void *dst, gva src, size_t n);
int guest_write(gva dst, const void *src, size_t n);

/*
 * Puts `now` in the place of the word at dst if that is `old`: 0, or 1 if it is another. One instruction, so that the
 * kernel does not change it in between if it is the caller's own; not atomic against other threads.
 */
int guest_exchange(gva dst, u64 old, u64 now) __attribute__((visibility("hidden")));

/* Reads the byte there, or writes it as it is, in one atomic access. */
int guest_touch(gva at, bool write) __attribute__((visibility("hidden")));

/* Copies a string of at most size - 1 bytes and terminates it. Returns its length, -14, or -36 (ENAMETOOLONG). */
long guest_read_str(char *dst, gva src, size_t size);

/*
 * The copy that all of these are made of. Between guest_copy_begin and guest_copy_end the stack pointer is as on entry;
 * guest_copy_fault returns -14. Copies of exactly 1, 2, 4 and 8 bytes are one access each, which makes them atomic if
 * aligned (futex words, robust lists).
 */
#pragma GCC visibility push(hidden)
int guest_copy(void *dst, const void *src, size_t n);
extern const char guest_copy_begin[], guest_copy_end[], guest_copy_fault[];
#pragma GCC visibility pop

/* For the fault handler: where to continue if pc is inside one of the copy loops, else 0. */
u64 guest_fault_fixup(u64 pc);

#endif
