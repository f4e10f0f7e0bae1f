/* Log lines, levels, and what a failed check does. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rt/log.h"
#include "tests/unit/unit.h"

static int from_log, to_log;

static const char *logged(void)
{
	static char text[2048];
	ssize_t n = read(from_log, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	return text;
}

static void dump(void)
{
	log_printf(0, "dumped");
	check(!"a failure while dumping");
}

static void test_lines(void)
{
	char want[64], longer[1000];

	log_printf(0, "n=%d", 5);
	snprintf(want, sizeof(want), "pcl[%d]: n=5\n", getpid());
	expect_str(logged(), want);
	log_level = 1;
	log_printf(2, "hidden\n");
	log_printf(1, "shown\n");
	snprintf(want, sizeof(want), "pcl[%d]: shown\n", getpid());
	expect_str(logged(), want);
	memset(longer, 'l', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	log_printf(0, "%s", longer);
	expect(strchr(logged(), '\n') != NULL);
	for (int i = 0; i < 3; i++)
		curious(i < 0);
	expect(strstr(logged(), "curious at ") != NULL);
	log_fd = -1;
	log_printf(0, "silent\n");
	log_fd = to_log;
	log_printf(0, "end\n");
	snprintf(want, sizeof(want), "pcl[%d]: end\n", getpid());
	expect_str(logged(), want);
}

static void test_failed_check(void)
{
	const char *text;
	int status = 0, child = fork();

	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		signal(SIGABRT, SIG_IGN);
		log_set_dump(dump);
		check(1 + 1 == 2);
		check(1 + 1 == 3);
		_exit(0);
	}
	waitpid(child, &status, 0);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	text = logged();
	expect(strstr(text, "1 + 1 == 3") != NULL);
	expect(strstr(text, "1 + 1 == 2") == NULL);
	expect(strstr(text, "dumped\n") != NULL);
	expect(strstr(text, "a failure while dumping") != NULL);
}

int main(void)
{
	int fd[2];

	if (pipe(fd))
		return 1;
	from_log = fd[0];
	log_fd = to_log = fd[1];
	test_lines();
	test_failed_check();
	return unit_result();
}
