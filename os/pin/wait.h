/*
 * Waiting under virtual time. The kernel waits by its own clocks: a timeout takes as long as it says. An absolute one
 * is told to the kernel as the time that the guest's clock has left. When a wait has timed out, the guest's clock has
 * come to what was asked for. Who is woken otherwise finds the time as it was, but for its own instructions.
 */
#ifndef OS_PIN_WAIT_H
#define OS_PIN_WAIT_H

#include <linux/futex.h>
#include "os/pin/clock.h"

#ifndef FUTEX_LOCK_PI2 /* Linux 5.14 */
#define FUTEX_LOCK_PI2 13
#endif

/* System calls that wait, or that set a timer: `host` does them. */
pin_handler pin_wait, pin_sleep, pin_futex, pin_alarm, pin_itimer, pin_getitimer, pin_timer, pin_set_option,
	pin_wait_child;

/* For who waits otherwise (os/pin/turn.h). A call with a timeout from now on. */
struct pin_limit {
	u32 arg;    /* which argument it is, */
	bool in_ms; /* a number; else a structure */
	s32 passed; /* what says that it has passed */
};

/* ns: ~0: it has none. False: what it has is none. */
bool pin_wait_limit(u64 nr, const u64 *a, struct pin_limit *out, u64 *ns);

/* Until when, in virtual time, futex(2) with a timeout waits; nanosleep and clock_nanosleep sleep. False: as above. */
bool pin_futex_until(struct thread *t, const u64 *a, u64 *until);
bool pin_sleep_until(struct thread *t, const u64 *a, u64 *until);

#endif
