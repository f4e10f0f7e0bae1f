/*
 * Messages for the person who debugs, and checks.
 *
 * check() is always on and cheap; a failed one prints what was expected, the build and the caller's dump (log_set_dump)
 * and ends the process with SIGABRT. check_slow() is compiled in with MODE=dbg and the sanitizer modes only. curious()
 * logs once per place and goes on. All are safe in signal handlers: they format on the stack and write(2) once.
 *
 * Messages go to log_fd: by default descriptor 2 duplicated out of the guest's sight by os/, so that a guest that
 * closes descriptor 2 does not silence pcl or receive its text in an unrelated file.
 */
#ifndef RT_LOG_H
#define RT_LOG_H

#include "abi/types.h"

extern int log_fd;	 /* -1: silent */
extern int log_level;	 /* 0 errors only, 1 curious, 2 info, 3 debug */

void log_write(const char *text, size_t len);
void log_printf(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_set_dump(void (*dump)(void)); /* called once by a failed check, may log */
/* Calls it, too: before the process ends of another defect. */
void log_dump(void);

void check_failed(const char *what, const char *file, int line) __attribute__((noreturn, cold));
void curious_once(bool *seen, const char *what, const char *file, int line) __attribute__((cold));

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (unlikely(!(cond)))                                                                                 \
			check_failed(#cond, __FILE__, __LINE__);                                                       \
	} while (0)

#ifdef PCL_DEBUG
#define check_slow(cond) check(cond)
#else
#define check_slow(cond) ((void)sizeof(!(cond)))
#endif

#define curious(cond)                                                                                                  \
	do {                                                                                                           \
		static bool seen_;                                                                                     \
		if (unlikely(!(cond)) && !seen_)                                                                       \
			curious_once(&seen_, #cond, __FILE__, __LINE__);                                               \
	} while (0)

#endif
