/*
 * Random numbers from a seed. Each thread has its own, from its parent's seed and its place among the parent's tasks,
 * so that they do not depend on who runs first. Not for keys.
 *
 * Descriptors of /dev/random and /dev/urandom are the host's; what was read from one is replaced. Whether a descriptor
 * is one is asked only in a process that has opened one, or comes after one that has; and not where a seccomp filter
 * may forbid it.
 */
#ifndef OS_PIN_RANDOM_H
#define OS_PIN_RANDOM_H

#include "os/pin/pin.h"

/* System calls: getrandom; read, pread64, readv and the like; open and the like. */
pin_handler pin_getrandom, pin_random_read, pin_random_readv, pin_random_open;

/* Before the first program: a descriptor that it begins with may be one. */
void pin_random_look(void);

#endif
