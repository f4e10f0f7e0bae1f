/* See why.h. The rows are os/session/refusals.h's. Whatever stands there, lines stay lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/types.h"
#include "cli/output.h"
#include "cli/why.h"
#include "os/session/arena.h"
#include "rt/arch.h"

static FILE *out;
static const char *name;

static const char *const call_names[] = {
#define SYSCALL(nr, name, handler, level, formats) [nr] = #name,
#include ARCH_HEADER(os, syscalls.def)
#undef SYSCALL
};

int why_open(const char *path)
{
	name = *path ? path : "standard error";
	out = *path ? output_open(path) : stderr;
	if (out)
		return 0;
	fprintf(stderr, "pcl: %s: %s\n", path, strerror(errno));
	return -1;
}

static void print_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size && text[i]; i++)
		fputc(text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?', out);
}

/* "CALL: ERRNO: ", or "instruction: SIGNAL: ". */
static void print_what(const struct refusals_row *r)
{
	const char *err = strerrorname_np(r->err), *sig = sigabbrev_np(r->err);
	const char *call = r->nr < ARRAY_SIZE(call_names) ? call_names[r->nr] : NULL;

	if (r->nr == REFUSALS_INSTRUCTION) {
		fprintf(out, "instruction: SIG%s: ", sig ? sig : "NAL");
		return;
	}
	if (call)
		fprintf(out, "%s: ", call);
	else
		fprintf(out, "system call %u: ", r->nr);
	fprintf(out, "%s: ", err ? err : "error");
}

static void print_row(const struct refusals_row *r)
{
	fprintf(out, "%8lu  ", r->count);
	print_text(r->comm, sizeof(r->comm));
	fprintf(out, ": ");
	print_what(r);
	print_text(r->why, sizeof(r->why));
	fputc('\n', out);
}

/* Who asked for the kernel, too, and did not ask again without. */
static void print_tools(const struct refusals *all)
{
	for (size_t i = 0; i < REFUSALS_TOOLS; i++) {
		if (__atomic_load_n(&all->tool[i].state, __ATOMIC_RELAXED) != REFUSALS_KERNEL)
			continue;
		fprintf(out, "pcl: ");
		print_text(all->tool[i].comm, sizeof(all->tool[i].comm));
		fprintf(out, "%s\n", REFUSALS_KERNEL_TEXT);
	}
}

/* The most frequent first. */
static int by_count(const void *a, const void *b)
{
	const struct refusals_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strncmp(x->comm, y->comm, sizeof(x->comm));
}

int why_print(void)
{
	static struct refusals_row row[REFUSALS];
	const struct refusals *all = &arena()->refusals;
	u64 sum = all->others;
	size_t n = 0;

	for (size_t i = 0; i < REFUSALS; i++)
		if (__atomic_load_n(&all->row[i].count, __ATOMIC_RELAXED))
			row[n++] = all->row[i];
	qsort(row, n, sizeof(*row), by_count);
	output_begin(out);
	for (size_t i = 0; i < n; i++)
		sum += row[i].count;
	if (!sum)
		fprintf(out, "pcl: nothing was refused\n");
	else
		fprintf(out, "pcl: refused, %lu in all (count, program, what, error, reason):\n", sum);
	for (size_t i = 0; i < n; i++)
		print_row(&row[i]);
	if (all->others)
		fprintf(out, "%8lu  others\n", all->others);
	print_tools(all);
	if (!ferror(out) && !fflush(out))
		return 0;
	fprintf(stderr, "pcl: cannot write what was refused to %s: %s\n", name, strerror(errno));
	return -1;
}
