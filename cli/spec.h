/*
 * Lists of events as perf's -e takes them:
 *
 *   list      = item {"," item}
 *   item      = "{" list "}" [":" modifiers] | event
 *   event     = NAME [":" modifiers] | "cpu/" term {"," term} "/" [modifiers] | "r" HEX [":" modifiers]
 *             | SUBSYSTEM ":" TRACEPOINT [":" modifiers] | "mem:" ADDRESS ["/" LENGTH] [":" rwx] [":" modifiers]
 *   term      = NAME | KEY "=" NUMBER | "name=" TEXT
 *   modifiers = letters of "ukhpPGHDeS"; u: user mode, k: kernel mode, D: pinned, e: exclusive
 *
 * A tracepoint's name may have the wildcards of a shell. Files of tracefs are read, so this is done by a guest.
 */
#ifndef CLI_SPEC_H
#define CLI_SPEC_H

#include <linux/perf_event.h>
#include <stdbool.h>

struct spec {
	char *text;	   /* as it was given, of modifiers only G, D and e: the same event again */
	char *name;	   /* the same, or what name= says */
	const char *class; /* EXACT and so on, see event_names.h */
	bool is_time;	   /* in ns */
	bool has_mode;	   /* modifiers say which modes count */
	int leader;	   /* index of the group's leader, its own if it is one, -1 without a group */
	struct perf_event_attr attr;
};

struct specs {
	struct spec *spec;
	int nr;
};

/* Returns 0, or -1 after a message in words. *out is empty at first, and to be freed in both cases. */
int specs_parse(const char *text, struct specs *out);
void specs_free(struct specs *s);

/* Why perf_event_open gives this errno for the event, in words. May open it once more to find out. */
const char *spec_refusal(const struct spec *s, int err);

#endif
