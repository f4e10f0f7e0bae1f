/* See options.h. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/types.h"
#include "cli/memory.h"
#include "cli/nearest.h"
#include "cli/options.h"

#define NAME_MAX_LEN 64

static const struct option_row rows[] = {
#define OPTION(kind, name, field, argument, help) OPTION_ROW(options, kind, 0, name, field, argument, help)
#include "cli/options.def"
#undef OPTION
};

const struct option_table options_table = {"pcl", rows, ARRAY_SIZE(rows), false};

static const struct option_row *find(const struct option_table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->nr; i++)
		if (strlen(t->rows[i].name) == len && !memcmp(t->rows[i].name, name, len))
			return &t->rows[i];
	return NULL;
}

static const struct option_row *find_letter(const struct option_table *t, char letter)
{
	for (size_t i = 0; i < t->nr; i++)
		if (t->rows[i].letter == letter)
			return &t->rows[i];
	return NULL;
}

/* No option takes less than -1. What is below is one number, which is none of those that mean "not given". */
static int parse_number(const char *text, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (end == text || *end || v > INT_MAX)
		return -1;
	*out = v < -1 ? INT_MIN : (int)v;
	return 0;
}

/* words: "=A|B|..." or "=A,B,..." */
static int parse_word(const char *text, size_t text_len, const char *words, int *out)
{
	size_t len;

	*out = 0;
	for (words++;; words += len + 1, ++*out) {
		len = strcspn(words, "|,");
		if (text_len == len && !memcmp(text, words, len))
			return 0;
		if (!words[len])
			return -1;
	}
}

static int parse_words(const char *text, const char *words, int *out)
{
	size_t len;
	int bit;

	for (*out = 0;; text += len + 1) {
		len = strcspn(text, ",");
		if (parse_word(text, len, words, &bit))
			return -1;
		*out |= 1 << bit;
		if (!text[len])
			return 0;
	}
}

/* letters: "=AB..." */
static int parse_letters(const char *text, const char *letters, int *out)
{
	for (*out = 0; *text; text++) {
		const char *found = strchr(letters + 1, *text);

		if (!found)
			return -1;
		*out |= 1 << (found - letters - 1);
	}
	return *out ? 0 : -1;
}

static int parse_address(const char *text, int *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 0);

	if (end == text || *end || *text == '-' || v > INT_MAX)
		return -1;
	*out = (int)v;
	return 0;
}

/* strtod() would take signs, spaces, hexadecimal digits, "inf" and "nan", too. */
static int parse_percent(const char *text, double *out)
{
	char *end;

	if ((!isdigit((unsigned char)*text) && *text != '.') || strpbrk(text, "xX"))
		return -1;
	*out = strtod(text, &end);
	return end == text || strcmp(end, *end == '%' ? "%" : "") || *out > OPTIONS_PERCENT_MOST ? -1 : 0;
}

/* No command has two options that are lists. */
static int add_to_list(const char *value, const char **list)
{
	static char *joined; /* as long as the process lives */
	const char *before = *list ? *list : "";
	size_t size = strlen(before) + strlen(value) + sizeof(",");
	char *text = memory_zeroed(size, 1);

	snprintf(text, size, "%s%s%s", before, *before ? "," : "", value);
	free(joined);
	*list = joined = text;
	return *value ? 0 : -1;
}

/* value: NULL if there is none. Returns 0 or -1. */
static int apply(const struct option_row *o, const char *value, void *out)
{
	void *field = (char *)out + o->offset;

	switch (o->kind) {
	case FLAG:
		*(int *)field = 1;
		return value ? -1 : 0;
	case NUMBER:
		return value ? parse_number(value, field) : -1;
	case WORD:
		return value ? parse_word(value, strlen(value), o->argument, field) : -1;
	case LETTERS:
		return value ? parse_letters(value, o->argument, field) : -1;
	case ADDRESS:
		return value ? parse_address(value, field) : -1;
	case PERCENT:
		return value ? parse_percent(value, field) : -1;
	case WORDS:
		return value ? parse_words(value, o->argument, field) : -1;
	case WHY:
		*(int *)field = value ? 2 : 1;
		return value && strcmp(value, "why") ? -1 : 0;
	case TEXT:
		*(const char **)field = value;
		return value && *value ? 0 : -1;
	case LIST:
		return value ? add_to_list(value, field) : -1;
	case MAYBE:
		*(const char **)field = value ? value : "";
		return value && !*value ? -1 : 0;
	}
	return -1;
}

static bool takes_argument(const struct option_row *o)
{
	return o->kind != FLAG && o->kind != WHY && o->kind != MAYBE;
}

static int complain_unknown(const struct option_table *t, const char *word)
{
	size_t len = strcspn(word, "=");
	char name[NAME_MAX_LEN] = "";
	struct nearest nearest = {.word = name};

	if (!strncmp(word, "--", 2) && len - 2 < sizeof(name))
		memcpy(name, word + 2, len - 2);
	for (size_t i = 0; i < t->nr; i++)
		nearest_try(&nearest, t->rows[i].name);
	if (t != &options_table && find(&options_table, name, strlen(name)))
		fprintf(stderr, "%s: --%s is an option of pcl itself: it stands in front of the command\n", t->command,
			name);
	else if (!strncmp(word, "-p", 2) || !strncmp(word, "--pid", 5)) /* as perf has it */
		fprintf(stderr, "%s: unknown option %s: what runs already cannot be counted, only what pcl starts\n",
			t->command, word);
	else if (*name && nearest.best)
		fprintf(stderr, "%s: unknown option %s; is --%s meant? (see pcl --help)\n", t->command, word,
			nearest.best);
	else
		fprintf(stderr, "%s: unknown option %s (see pcl --help)\n", t->command, word);
	return -1;
}

/* word: as it was given; value: if that was the next word. */
static int complain_form(const struct option_table *t, const struct option_row *o, const char *word, const char *value)
{
	static const char *const what[MAYBE + 1] = {
		[NUMBER] = ", a whole number of at most 2147483647",
		[ADDRESS] = ", a number of at most 0x7fffffff",
		[PERCENT] = ", a number from 0 to 1000000, as 0.1%",
		[TEXT] = ", which is not empty",
		[LIST] = ", which is not empty",
	};

	fprintf(stderr, "%s: wrong option %s%s%s: the form is --%s%s%s\n", t->command, word, value ? " " : "",
		value ? value : "", o->name, o->argument, what[o->kind] ? what[o->kind] : "");
	return -1;
}

/* The argument of the option in argv[i], which stands at `value`, or in the next word. Returns the index of the last
 * word used. */
static int read_value(const struct option_table *t, const struct option_row *o, int argc, char **argv, int i,
		      const char *value, void *out)
{
	const char *word = argv[i], *next = NULL;

	if (!value && t->separate && takes_argument(o) && i + 1 < argc && strcmp(argv[i + 1], "--"))
		value = next = argv[++i];
	return apply(o, value, out) ? complain_form(t, o, word, next) : i;
}

int options_read(const struct option_table *t, int argc, char **argv, void *out)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		char *word = argv[i];
		bool is_long = word[1] == '-';
		size_t len = is_long ? strcspn(word + 2, "=") : 1;
		const struct option_row *o = is_long   ? find(t, word + 2, len)
					     : word[1] ? find_letter(t, word[1])
						       : NULL;

		if (!strcmp(word, "--"))
			return i + 1;
		if (!o)
			return complain_unknown(t, word);
		word += 2 + (is_long ? len : 0);
		i = read_value(t, o, argc, argv, i, !*word ? NULL : is_long ? word + 1 : word, out);
		if (i < 0)
			return -1;
	}
	return i;
}

static bool is_above_0(const char *option, int value)
{
	if (value > 0 || value == OPTIONS_NOT_GIVEN)
		return true;
	fprintf(stderr, "pcl: %s takes a number above 0\n", option);
	return false;
}

static bool is_between(const char *option, int value, int low, int high)
{
	if (value >= low && value <= high)
		return true;
	fprintf(stderr, "pcl: %s takes %d to %d\n", option, low, high);
	return false;
}

static bool has_good_numbers(const struct options *o)
{
	if (o->cache_size < 0) {
		fprintf(stderr, "pcl: --cache-size takes a number of MiB, 0 or more\n");
		return false;
	}
	return is_between("--paranoid", o->paranoid, -1, 4) && is_between("--log", o->log, 0, 3) &&
	       is_above_0("--max-sample-rate", o->max_sample_rate) && is_above_0("--counters", o->counters);
}

int options_parse(int argc, char **argv, struct options *out)
{
	int i;

	*out = (struct options){
		.paranoid = OPTIONS_NOT_GIVEN,
		.max_sample_rate = OPTIONS_NOT_GIVEN,
		.counters = OPTIONS_NOT_GIVEN,
		.landing = OPTIONS_NOT_GIVEN,
		.top_byte = OPTIONS_NOT_GIVEN,
		.prefetch = OPTIONS_NOT_GIVEN,
		.cpu = OPTIONS_NOT_GIVEN,
		.cache_size = 512,
	};
	if (argc > 1 && !strcmp(argv[1], "-h")) {
		out->help = 1;
		return 2;
	}
	i = options_read(&options_table, argc, argv, out);
	if (out->paranoid == OPTIONS_NOT_GIVEN)
		out->paranoid = out->abi ? 1 : 2; /* design.txt: any user counts its own tasks */
	return i < 0 || !has_good_numbers(out) ? -1 : i;
}
