/*
 * Virtual time: nanoseconds since the session began. A process has one, which its threads share; it is what it has
 * executed:
 *
 *   each instruction of a thread    1 ns
 *   each system call                1 us
 *   each rdtsc                      25 ns
 *   a wait that has timed out       what was asked for, from its begin on
 *   a child that was waited for     at least the child's
 *
 * So it does not depend on the machine, but a program must not wait for it forever. It is never behind the host's
 * clock by more than SLACK; and from when a timer of the process's has expired, it is not behind at all: who is woken
 * by a timer finds that its time has come.
 */
#ifndef OS_PIN_CLOCK_H
#define OS_PIN_CLOCK_H

#include "os/pin/pin.h"

#define NS_PER_S    1000000000ul
#define PIN_CALL_NS 1000u

/* What virtual time has come to: of the process, and without the host's clock. */
u64 pin_clock_now(struct thread *t);
u64 pin_clock_own(struct thread *t);

/* Whether it has come that far, without the host's clock; and how many ns it has still to go. */
bool pin_clock_has_come(u64 to);
u64 pin_clock_until(u64 to);

/* Seconds that the machine has run, and when it began, in those of CLOCK_REALTIME. */
u64 pin_clock_uptime(struct thread *t);
#define PIN_BOOT_TIME 1893356000ul

/* It is at least that. */
void pin_clock_reach(u64 to);

/*
 * pin_clock_timer(): the kernel is about to set a timer that expires in so many ns of the host's clock, 0: to stop it.
 * From here on the old one and the new one count. pin_clock_timer_is(): the kernel has set ITIMER_REAL, so only the new
 * one counts, which is what pin_clock_timer() returned.
 */
struct pin_timer pin_clock_timer(struct thread *t, u32 which, u64 ns);
void pin_clock_timer_is(struct thread *t, struct pin_timer timer);

/* What ITIMER_REAL has left in virtual time; 0: unknown. */
u64 pin_clock_timer_left(struct thread *t);

/* A clock of the guest's: true, and virtual time; false: it is the host's. */
bool pin_clock_read(struct thread *t, s32 clock, u64 *ns);

/* What the clock says when virtual time is 0, false: it is none that goes on like that. */
bool pin_clock_zero(s32 clock, u64 *ns);

/* A child was waited for; it has ended. Its part of a rusage, NULL: nobody asked, goes to `usage`. */
void pin_clock_waited(struct thread *t, s32 pid, gva usage);

/* System calls: os/pin/pin.c. */
pin_handler pin_clock_gettime, pin_gettimeofday, pin_time, pin_times, pin_getrusage;

#endif
