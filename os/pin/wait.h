/*
 * Waiting under virtual time. The kernel waits by its own clocks: a timeout takes as long as it says. An absolute one
 * is told to the kernel as the time that the guest's clock has left. When a wait has timed out, the guest's clock has
 * come to what was asked for. Who is woken otherwise finds the time as it was, but for its own instructions.
 */
#ifndef OS_PIN_WAIT_H
#define OS_PIN_WAIT_H

#include "os/pin/clock.h"

/* System calls that wait, or that set a timer: `host` does them. */
pin_handler pin_wait, pin_sleep, pin_futex, pin_alarm, pin_itimer, pin_timer, pin_set_option, pin_wait_child;

#endif
