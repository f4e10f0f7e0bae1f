/* The functions of pcl count --by-function, in the forms of print.h. */
#ifndef CLI_PRINT_FUNCTIONS_H
#define CLI_PRINT_FUNCTIONS_H

#include <json-c/json.h>
#include <stdio.h>
#include "cli/count.h"
#include "cli/print.h"

/* That records were lost, so that functions lack what they stood for. NULL: none were. */
const char *print_lost(char text[PRINT_NOTE], const struct counts *c);

void print_functions_table(const struct counts *c, FILE *f);
void print_functions_csv(const struct counts *c, FILE *f);
void print_functions_json(const struct counts *c, struct json_object *to);

#endif
