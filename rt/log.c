/* Messages and checks; see log.h. */
#include <asm/errno.h>
#include <asm/signal.h>
#include "rt/fmt.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#ifndef PCL_MODE
#define PCL_MODE "unknown"
#endif
#ifndef PCL_VERSION
#define PCL_VERSION "unknown"
#endif

#define LINE_MAX_LEN 512

int log_fd = 2;
int log_level;

static void (*failure_dump)(void);
static bool failing; /* a check failed; a second failure while dumping ends at once */

void log_write(const char *text, size_t len)
{
	if (log_fd < 0)
		return;
	while (len) {
		long n = sys3(__NR_write, log_fd, text, len);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

/* One line, prefixed "pcl[tid]: ", ended with a newline if the text has none. */
void log_printf(int level, const char *fmt, ...)
{
	char line[LINE_MAX_LEN];
	size_t at;
	va_list ap;
	int n;

	if (level > log_level)
		return;
	at = rt_append(line, sizeof(line) - 1, 0, "pcl[%d]: ", (int)sys0(__NR_gettid));
	va_start(ap, fmt);
	n = rt_vsnprintf(line + at, sizeof(line) - 1 - at, fmt, ap);
	va_end(ap);
	at = MIN(at + (size_t)n, sizeof(line) - 2);
	if (line[at - 1] != '\n')
		line[at++] = '\n';
	log_write(line, at);
}

void log_set_dump(void (*dump)(void))
{
	failure_dump = dump;
}

/* Death by SIGABRT whatever the guest does with that signal. */
static void __attribute__((noreturn)) die(void)
{
	u64 action[4] = {0}; /* struct kernel_sigaction: handler SIG_DFL, flags, restorer, mask */
	u64 set = 1ul << (SIGABRT - 1);

	sys4(__NR_rt_sigaction, SIGABRT, action, 0, sizeof(u64));
	sys4(__NR_rt_sigprocmask, SIG_UNBLOCK, &set, 0, sizeof(set));
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), SIGABRT);
	for (;;)
		sys1(__NR_exit_group, 134);
}

void log_dump(void)
{
	bool again = __atomic_exchange_n(&failing, true, __ATOMIC_RELAXED);

	if (!again && failure_dump)
		failure_dump();
}

static void __attribute__((noreturn)) fail_after_message(void)
{
	log_dump();
	die();
}

void check_failed(const char *what, const char *file, int line)
{
	log_printf(0, "check failed at %s:%d: %s (pcl %s %s)", file, line, what, PCL_VERSION, PCL_MODE);
	fail_after_message();
}

void curious_once(bool *seen, const char *what, const char *file, int line)
{
	if (!__atomic_exchange_n(seen, true, __ATOMIC_RELAXED))
		log_printf(1, "curious at %s:%d: not %s", file, line, what);
}
