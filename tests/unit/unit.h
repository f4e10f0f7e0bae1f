/*
 * What unit tests share: a test is a program that ends with `return unit_result();`. Each failed expectation prints
 * itself and lets the test go on.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <stdio.h>
#include <string.h>

static int unit_failures, unit_checks;

#define expect(cond)                                                                                                   \
	do {                                                                                                           \
		unit_checks++;                                                                                         \
		if (!(cond)) {                                                                                         \
			unit_failures++;                                                                               \
			fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #cond);                            \
		}                                                                                                      \
	} while (0)

#define expect_long(got, want)                                                                                         \
	do {                                                                                                           \
		long got_ = (long)(got), want_ = (long)(want);                                                         \
		unit_checks++;                                                                                         \
		if (got_ != want_) {                                                                                   \
			unit_failures++;                                                                               \
			fprintf(stderr, "%s:%d: %s is %ld, expected %ld\n", __FILE__, __LINE__, #got, got_, want_);    \
		}                                                                                                      \
	} while (0)

#define expect_str(got, want)                                                                                          \
	do {                                                                                                           \
		const char *got_ = (got), *want_ = (want);                                                             \
		unit_checks++;                                                                                         \
		if (strcmp(got_, want_)) {                                                                             \
			unit_failures++;                                                                               \
			fprintf(stderr, "%s:%d: got \"%s\"\n  expected \"%s\"\n", __FILE__, __LINE__, got_, want_);    \
		}                                                                                                      \
	} while (0)

/* A test that checked nothing has failed. */
static inline int unit_result(void)
{
	if (!unit_failures && unit_checks)
		return 0;
	fprintf(stderr, "%d of %d expectations failed\n", unit_failures, unit_checks);
	return 1;
}

#endif
