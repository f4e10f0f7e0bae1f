/* The kernel's clone onto a stack of its own, from which the child does not return. */
#ifndef OS_CLONE_H
#define OS_CLONE_H

#include "os/session/thread.h"

struct clone_args;

/* The child goes to clone_child(child) on that stack; of clone3, args names the same one. */
long clone_onto(u64 flags, u64 ptid, u64 ctid, u64 tls, void *stack_top, struct thread *child);
long clone3_onto(struct clone_args *args, u64 size, void *stack_top, struct thread *child);
void clone_child(struct thread *t) __attribute__((noreturn));

#endif
