/*
 * The file of pcl check:
 *
 *   {"pcl-baseline": 1,
 *    "benchmarks": {NAME: {"command": [WORD...], "cpu": TEXT, "pcl": VERSION, "counts": {EVENT: NUMBER...}}...}}
 *
 * Benchmarks are kept in the order in which they came. Members that are not known are kept too.
 */
#ifndef CLI_BASELINE_H
#define CLI_BASELINE_H

#include <stdbool.h>
#include "abi/types.h"

struct baseline; /* one file */

/* Reads it. A file that does not exist is empty if may_be_missing. NULL after a message. */
struct baseline *baseline_read(const char *path, bool may_be_missing);
/* As it is now, for baseline_write(): nobody else changes it until baseline_free(). It may be missing. */
struct baseline *baseline_read_to_write(const char *path);

/* Chooses the benchmark that the calls below are about. False: the file does not have it. */
bool baseline_choose(struct baseline *b, const char *name);

bool baseline_count(const struct baseline *b, const char *event, u64 *out);
/* The events as a list for specs_parse(), to be freed; NULL without memory. */
char *baseline_events(const struct baseline *b);
const char *baseline_cpu(const struct baseline *b); /* NULL: not known */
/* The nearest name that the file has, NULL: none is near. */
const char *baseline_nearest(const struct baseline *b, const char *name);

/* Replaces the benchmark of that name by one without counts, and chooses it. */
void baseline_begin(struct baseline *b, const char *name, char **argv, const char *cpu);
void baseline_put(struct baseline *b, const char *event, u64 count);

/* Counts of functions of an event. False: the benchmark has none of that event. */
bool baseline_functions(const struct baseline *b, const char *event,
			void (*see)(void *arg, const char *function, u64 count), void *arg);
void baseline_put_function(struct baseline *b, const char *event, const char *function, u64 count);

/* Writes the file that baseline_read_to_write() has read, as a whole or not at all. 0, or -1 after a message. */
int baseline_write(const struct baseline *b);

void baseline_free(struct baseline *b);

#endif
