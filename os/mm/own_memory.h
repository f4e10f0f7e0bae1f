/*
 * Shared memory that only mappings of this address space can change. Code in it need not be compared each time it is
 * entered: all mappings of its page are write-protected, as private code's only one is (dbt/guest_code.c).
 *
 * It is known of memory that a JIT maps twice: a memfd that was closed while nobody else could have it, and anonymous
 * shared memory. A mapping of it has its number, vma.memory.
 *
 *  1. From memfd_create(2) to close(2) the file is watched. A call of any thread that is not on the list of harmless
 *     ones ends that; code in the file is then compared for ever. Only one file at a time is watched, and none where
 *     another process has the same descriptors.
 *  2. What write(2) changes while it is open is not missed: until it is closed, code is compared.
 *  3. A forked child could write to it. From before the fork until the child has executed another program, code is
 *     compared (it is lent). A child that forks meanwhile, or shares its memory, makes that so for ever.
 *  4. Whenever a mapping of it begins, moves or gets another protection, what was translated from it is forgotten.
 *
 * What a debugger writes by way of /proc or ptrace(2) is not noticed, as in private code.
 */
#ifndef OS_OWN_MEMORY_H
#define OS_OWN_MEMORY_H

#include "os/mm/vma.h"
#include "os/session/thread.h"

/* A file is watched, or memory is lent. */
extern u32 own_memory_watching;

/* Before each system call while own_memory_watching. */
void own_memory_call(struct thread *t);

/* The number for a new mapping with these arguments of mmap(2), 0: none. */
u16 own_memory_number_locked(int prot, int flags, s32 fd);

/* Whether memory of that number is this address space's alone. Any context. */
bool own_memory_is(u16 number);

/* The guest has closed fd. */
void own_memory_closed(s32 fd);

/* Rule 4, for what is mapped in [start, end) now. */
void own_memory_changed_locked(gva start, gva end);

/* Rule 3: before a fork to that task; it failed; and in the child. */
void own_memory_lend_locked(const struct task *to);
void own_memory_lent_to_none_locked(void);
void own_memory_borrowed_locked(void);
/* A task that shares memory, but is no thread, is about to begin. */
void own_memory_shared(void);

#endif
