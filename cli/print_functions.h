/* The functions of pcl count --by-function, in the forms of print.h. */
#ifndef CLI_PRINT_FUNCTIONS_H
#define CLI_PRINT_FUNCTIONS_H

#include <json-c/json.h>
#include <stdio.h>
#include "cli/count.h"

void print_functions_table(const struct counts *c, FILE *f);
void print_functions_csv(const struct counts *c, FILE *f);
void print_functions_json(const struct counts *c, struct json_object *to);

#endif
