/*
 * Command lines: pcl [options] [--] program [args...], whose table is cli/options.def, and pcl COMMAND [options] [--]
 * ..., whose commands are in cli/commands.def and have a table each.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * FLAG    no argument, sets the int to 1
 * NUMBER  an int, may be negative
 * WORD    one of the words of `argument`, stores which, 0 the first
 * WORDS   some of the words of `argument`, "=A,B,...": stores a bit for each that is given, 1 for the first
 * LETTERS the same of the letters of `argument`, "=AB..."
 * ADDRESS a number as C writes it, that an int can hold
 * PERCENT decimal digits, with a % behind them or without: stores a double from 0 to OPTIONS_PERCENT_MOST
 * WHY     none, or "=why": stores 1 or 2
 * TEXT    any text, stores a pointer to it
 * LIST    any text; of an option that is given again, all texts with commas between them
 * MAYBE   none, or any text: stores "" or a pointer to it
 */
enum option_kind { FLAG, NUMBER, WORD, WORDS, LETTERS, ADDRESS, PERCENT, WHY, TEXT, LIST, MAYBE };

#define OPTIONS_PERCENT_MOST 1000000

#define OPTION_TYPE_FLAG int
#define OPTION_TYPE_NUMBER int
#define OPTION_TYPE_WORD int
#define OPTION_TYPE_WORDS int
#define OPTION_TYPE_LETTERS int
#define OPTION_TYPE_ADDRESS int
#define OPTION_TYPE_PERCENT double
#define OPTION_TYPE_WHY int
#define OPTION_TYPE_TEXT const char *
#define OPTION_TYPE_LIST const char *
#define OPTION_TYPE_MAYBE const char *

struct option_row {
	enum option_kind kind;
	char letter; /* 0: it has none */
	const char *name;
	size_t offset; /* of its field */
	const char *argument, *help;
};

struct option_table {
	const char *command; /* as messages name it: "pcl", "pcl count" */
	const struct option_row *rows;
	size_t nr;
	bool separate; /* an argument may also be the next word: --runs 3 */
};

/* For a table's .def: its fields, and its rows for struct `of`. */
#define OPTION_FIELD(kind, field) OPTION_TYPE_##kind field;
#define OPTION_ROW(of, kind, letter, name, field, argument, help)                                                      \
	{kind, letter, name, offsetof(struct of, field), argument, help},

struct options {
#define OPTION(kind, name, field, argument, help) OPTION_FIELD(kind, field)
#include "cli/options.def"
#undef OPTION
};

#define OPTIONS_NOT_GIVEN (-2) /* paranoid while it is parsed, max_sample_rate, counters, cpu and the forms of code */

extern const struct option_table options_table;

/*
 * Parses from argv[1] up to the first word that is no option, or behind "--". Returns that word's index (argc if there
 * is none), or -1 after a message about a wrong option. Fields of options that are not given stay as they are.
 */
int options_read(const struct option_table *table, int argc, char **argv, void *out);

/* The same for pcl itself, with its defaults first. */
int options_parse(int argc, char **argv, struct options *out);

#endif
