/*
 * Filters of events whose records have fields: the language of PERF_EVENT_IOC_SET_FILTER, as
 * Documentation/trace/events.rst describes it.
 *
 *   FILTER := AND { "||" AND }      AND := TERM { "&&" TERM }      TERM := "!" TERM | "(" FILTER ")" | FIELD OP VALUE
 *   OP     := == != < <= > >= &     with numbers: decimal, 0x..., 0...; & is true if a bit is common
 *             == != ~               with strings in quotes; ~ takes * ? and [...]
 *   FIELD := NAME | NAME ".ustring" for a string that the field is the address of
 *
 * Besides the record's fields there are comm (COMM), the task's name, and cpu (CPU). Compiled, a filter is an array of
 * struct filter_node in postfix order. It lies in the session's memory for as long as an event names it, so members
 * that die leave nothing behind: what no live event names is free.
 */
#ifndef EVENT_FILTER_H
#define EVENT_FILTER_H

#include "event/host.h"

struct event;

enum filter_kind {
	FILTER_NONE, /* can be named, is never true */
	FILTER_U8,
	FILTER_U16,
	FILTER_U32,
	FILTER_U64,
	FILTER_S8,
	FILTER_S16,
	FILTER_S32,
	FILTER_S64,
	FILTER_POINTER, /* address of a string: never true, like Linux, which takes it for one in the kernel */
	FILTER_STRING,	/* in the record: 16 bits say where it begins, 16 how long it is, with the 0 */
	FILTER_CHARS,	/* in the record: 16 bytes, with the 0 */
	FILTER_USTRING, /* the same as NAME.ustring: the string in the task's memory */
	FILTER_COMM,
	FILTER_CPU,
};

struct filter_field {
	const char *name; /* not terminated */
	u32 name_len;
	u16 offset;	  /* in the record */
	enum filter_kind kind;
};

/* The index-th field of the records of a source; false: there are no more. */
typedef bool filter_fields(u32 source, u32 index, struct filter_field *out);

struct filter_node {
	u8 op, kind;
	u16 offset;
	u32 len;   /* of a string: its length. It is in the nodes that follow */
	u64 value;
};

#define FILTER_NODES 512   /* of one filter, at most */
#define FILTER_TEXT 4096   /* bytes of its text, with the 0 */

/* How many nodes were written to out[FILTER_NODES], or -errno with Linux's numbers. */
int filter_compile(const char *text, filter_fields *fields, u32 source, struct filter_node *out);

#define FILTER_WORDS 8	     /* of a record that strings in the task's memory are looked for */
#define FILTER_USTRING_SIZE 1024 /* what of a string in the task's memory is looked at, with the 0 */

/* What is looked at. */
struct filter_subject {
	const u8 *record;
	const char *comm;
	/* those that the words of the record are the addresses of, NULL: cannot be read; or no array */
	const char *const *ustring;
	task_id task;		    /* which it happens to */
	u32 size;		    /* of the record */
};
bool filter_passes(const struct filter_node *filter, u32 n, const struct filter_subject *s);

/* Some filter of the session wants strings in the task's memory. */
bool filter_wants_ustrings(void);

/*
 * With the event lock: gives a root its filter, which it keeps (0, or -ENOMEM); and whether e's family has none or it
 * passes.
 */
int filter_attach(struct event *root, const struct filter_node *filter, u32 n);
bool filter_passes_event(const struct event *e, const struct filter_subject *s);

#endif
