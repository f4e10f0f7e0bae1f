/* The first line of scripts: what Linux takes for interpreter and argument. */
#include <errno.h>
#include "os/task/script.c"
#include "tests/unit/unit.h"

static void check_line(const char *text, int want, const char *interp, const char *arg)
{
	char line[SCRIPT_LINE] = {0};
	struct script s;

	memcpy(line, text, strnlen(text, SCRIPT_LINE));
	expect_long(script_parse(line, &s), want);
	if (want)
		return;
	expect_str(s.interp, interp);
	expect_str(s.arg ? s.arg : "(none)", arg ? arg : "(none)");
}

/* "#!" and n characters 'x', then `after`. */
static const char *long_line(size_t n, const char *after)
{
	static char texts[2][1024];
	static int used;
	char *text = texts[used++ % 2];

	memset(text, 'x', sizeof(texts[0]));
	memcpy(text, "#!", 2);
	strcpy(text + 2 + n, after);
	return text;
}

int main(void)
{
	check_line("#!/bin/sh\necho", 0, "/bin/sh", NULL);
	check_line("#! \t /bin/sh \t \n", 0, "/bin/sh", NULL);
	check_line("#!/bin/sh -e\n", 0, "/bin/sh", "-e");
	check_line("#!/usr/bin/env  python3 -u  x \t\n", 0, "/usr/bin/env", "python3 -u  x");
	check_line("#!/bin/sh", 0, "/bin/sh", NULL); /* the file ends there */
	check_line("#!/bin/sh -x", 0, "/bin/sh", "-x");
	check_line("", -ENOEXEC, NULL, NULL);
	check_line("#\n", -ENOEXEC, NULL, NULL);
	check_line("#!\n", -ENOEXEC, NULL, NULL);
	check_line("#!  \t \n", -ENOEXEC, NULL, NULL);
	check_line("\177ELF", -ENOEXEC, NULL, NULL);
	/* A name that may go on after the first SCRIPT_LINE bytes is not trusted; a truncated argument is. */
	check_line(long_line(600, "\n"), -ENOEXEC, NULL, NULL);
	check_line(long_line(100, "\n"), 0, long_line(100, "") + 2, NULL);
	check_line(long_line(SCRIPT_LINE - 3, "\n"), 0, long_line(SCRIPT_LINE - 3, "") + 2, NULL);
	check_line("#!/bin/sh \n", 0, "/bin/sh", NULL);
	return unit_result();
}
