/* The first line of a script: the rules of load_script() in Linux 5.x and later, fs/binfmt_script.c. */
#include <errno.h>
#include "os/task/script.h"
#include "rt/string.h"

static bool spacetab(char c)
{
	return c == ' ' || c == '\t';
}

static char *next_non_spacetab(char *first, const char *last)
{
	for (; first <= last; first++)
		if (!spacetab(*first))
			return first;
	return NULL;
}

static char *next_terminator(char *first, const char *last)
{
	for (; first <= last; first++)
		if (spacetab(*first) || !*first)
			return first;
	return NULL;
}

/* The end of the line. One that does not end here is accepted if at least the interpreter's name does. */
static char *line_end(char *line)
{
	char *last = line + SCRIPT_LINE - 1;
	char *end = memchr(line, '\n', strnlen(line, SCRIPT_LINE));

	if (end)
		return end;
	end = next_non_spacetab(line + 2, last);
	if (!end || !next_terminator(end, last))
		return NULL;
	return last;
}

int script_parse(char *line, struct script *out)
{
	char *end, *name, *sep;

	*out = (struct script){0};
	if (line[0] != '#' || line[1] != '!')
		return -ENOEXEC;
	end = line_end(line);
	if (!end)
		return -ENOEXEC;
	while (spacetab(end[-1]))
		end--;
	name = next_non_spacetab(line + 2, end);
	if (!name || name == end)
		return -ENOEXEC;
	sep = next_terminator(name, end);
	if (sep && *sep)
		out->arg = next_non_spacetab(sep, end);
	*end = 0;
	if (out->arg)
		*sep = 0;
	out->interp = name;
	return 0;
}
