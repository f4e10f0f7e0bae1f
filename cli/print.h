/* What pcl count says, for people and for programs. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <json-c/json.h>
#include <stdio.h>
#include "cli/count.h"

void print_table(const struct counts *c, FILE *f);
void print_csv(const struct counts *c, FILE *f);
void print_json(const struct counts *c, FILE *f);

#define PRINT_COUNT 40
/* A count with commas, a time in ms. */
const char *print_count(char text[PRINT_COUNT], u64 value, bool is_time);

#define PRINT_NOTE 160
/* That tasks went on when the program had ended, and what that means. NULL: none did. */
const char *print_still_running(char text[PRINT_NOTE], const struct counts *c);
/* The same of processes that left the session. */
const char *print_leavers(char text[PRINT_NOTE], const struct counts *c);

/* In one line: see utf8_printable(). */
void print_text(const char *text, FILE *f);

/* Puts the value, too. */
void print_json_value(struct json_object *o, FILE *f);

/* A field of CSV: quoted if it has to be (RFC 4180). */
void print_field(const char *text, FILE *f);

#endif
