/* The command line of pcl; see options.h. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/options.h"
#include "abi/types.h"

enum kind { FLAG, NUMBER, WHY, WORD };

struct option {
	enum kind kind;
	const char *name;
	size_t offset; /* of an int in struct options */
	const char *argument, *help;
};

static const struct option table[] = {
#define OPTION(kind, name, field, argument, help) {kind, name, offsetof(struct options, field), argument, help},
#include "cli/options.def"
#undef OPTION
};

void options_defaults(struct options *out)
{
	*out = (struct options){.paranoid = 2, .max_sample_rate = OPTIONS_NO_RATE};
}

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len))
			return &table[i];
	return NULL;
}

static int parse_number(const char *text, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (end == text || *end || v < -1 || v > INT_MAX)
		return -1;
	*out = (int)v;
	return 0;
}

/* words: "=A|B|..." */
static int parse_word(const char *text, const char *words, int *out)
{
	size_t len;

	*out = 0;
	for (words++; ; words += len + 1, ++*out) {
		len = strcspn(words, "|");
		if (strlen(text) == len && !memcmp(text, words, len))
			return 0;
		if (!words[len])
			return -1;
	}
}

/* value: text after '=', NULL if there is none. Returns 0 or -1. */
static int apply(const struct option *o, const char *value, struct options *out)
{
	int *field = (int *)((char *)out + o->offset);

	switch (o->kind) {
	case FLAG:
		*field = 1;
		return value ? -1 : 0;
	case NUMBER:
		return value ? parse_number(value, field) : -1;
	case WHY:
		*field = value ? 2 : 1;
		return value && strcmp(value, "why") ? -1 : 0;
	case WORD:
		return value ? parse_word(value, o->argument, field) : -1;
	}
	return -1;
}

static int parse_one(const char *text, struct options *out)
{
	size_t len = strcspn(text, "=");
	const struct option *o = find(text, len);

	if (!o) {
		fprintf(stderr, "pcl: unknown option --%s (see pcl --help)\n", text);
		return -1;
	}
	if (apply(o, text[len] ? text + len + 1 : NULL, out)) {
		fprintf(stderr, "pcl: wrong option --%s: the form is --%s%s\n", text, o->name, o->argument);
		return -1;
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *out)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "-h"))
			out->help = 1;
		else if (argv[i][1] != '-') {
			fprintf(stderr, "pcl: unknown option %s (see pcl --help)\n", argv[i]);
			return -1;
		} else if (parse_one(argv[i] + 2, out))
			return -1;
	}
	if (out->paranoid > 4) {
		fprintf(stderr, "pcl: --paranoid takes -1 to 4\n");
		return -1;
	}
	if (out->max_sample_rate != OPTIONS_NO_RATE && out->max_sample_rate < 1) {
		fprintf(stderr, "pcl: --max-sample-rate takes a number above 0\n");
		return -1;
	}
	return i;
}

void options_help(void)
{
	printf("usage: pcl [options] [--] program [arguments...]\n"
	       "       pcl list\n\n"
	       "Runs a program with its own perf_event_open(2), for machines whose kernel has no hardware counters.\n"
	       "pcl list prints the events that can be counted.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s%s", table[i].name, table[i].argument);
		printf("  %-20s %s\n", left, table[i].help);
	}
}

/* In man(7) a hyphen that is to stay one is written \-. */
static void print_roff(const char *text)
{
	for (; *text; text++)
		printf(*text == '-' ? "\\-" : "%c", *text);
}

void options_manual(void)
{
	printf(".TH PCL 1 \"\" \"pcl " PCL_VERSION "\"\n"
	       ".SH NAME\npcl \\- perf_event_open(2) in user space\n"
	       ".SH SYNOPSIS\n.B pcl\n[options] [\\-\\-]\n.I program\n[arguments...]\n.br\n.B pcl list\n"
	       ".SH DESCRIPTION\n"
	       "Runs a program, and all programs that it starts, with a perf_event_open(2) that needs no hardware counters and\n"
	       "no privilege. Instructions and branches are counted exactly.\n"
	       ".B pcl list\nprints the events and whether each is exact, modelled or measured.\n"
	       ".SH OPTIONS\n");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		printf(".TP\n.B \\-\\-");
		print_roff(table[i].name);
		print_roff(table[i].argument);
		printf("\n");
		print_roff(table[i].help);
		printf("\n");
	}
	printf(".SH EXIT STATUS\n"
	       "That of the program, also if a signal ended it. 127: the program was not found. 126: it cannot be executed.\n"
	       "125: pcl itself failed or was given a wrong option.\n"
	       ".SH EXAMPLE\n.nf\npcl perf stat \\-e instructions:u,branches:u \\-\\- xz \\-9kc file\n.fi\n");
}
