/*
 * Shared memory that only mappings of this address space can change. Code in it need not be compared each time it is
 * entered: all mappings of its page are write-protected, as private code's only one is (dbt/guest_code.c).
 *
 * It is known of anonymous shared memory, and of a memfd of which nobody else has a descriptor. A mapping of it has its
 * number, vma.memory. JITs map such memory twice, or write to it before it becomes executable.
 *
 *  1. From memfd_create(2) to close(2) the file is watched. A call of any thread that may let another process have it,
 *     make another descriptor of it or write to it (is_harmful()) ends that: code in it is compared from then on. A
 *     file that is opened is looked at, as it may be the same one (/proc/self/fd). Only one file at a time is watched,
 *     and none where another process has the same descriptors.
 *  2. If execve(2) closes the descriptor (MFD_CLOEXEC), code in the file is not compared from the beginning: .NET never
 *     closes its own. Otherwise it is compared until the guest closes the descriptor.
 *  3. A forked child could write to it. From before the fork until the child has executed another program, code is
 *     compared (it is lent). A child that forks meanwhile, shares its memory, or makes another descriptor of a watched
 *     file, makes that so for ever. If none of the memory has been executable, there is no code, and the memory is not
 *     own memory any more.
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

/* Before each system call while own_memory_watching. descriptors: which of its arguments are some, a bit for each. */
void own_memory_call(struct thread *t, u32 descriptors);

/* The number for a new mapping with these arguments of mmap(2), 0: none. */
u16 own_memory_number_locked(int prot, int flags, s32 fd);

/* Whether memory of that number is this address space's alone. Any context. */
bool own_memory_is(u16 number);

/* The guest has closed fd; and has opened it, negative: an error. */
void own_memory_closed(s32 fd);
void own_memory_opened(s32 fd);

/* Rule 4, for what is mapped in [start, end) now. */
void own_memory_changed_locked(gva start, gva end);

/* Rule 3: before a fork to that task; it failed; and in the child. */
void own_memory_lend_locked(const struct task *to);
void own_memory_lent_to_none_locked(void);
void own_memory_borrowed_locked(void);
/* A task that is no thread is about to begin, by a clone(2) with these flags. */
void own_memory_shared(u64 flags);

#endif
