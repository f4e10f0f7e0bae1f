/*
 * One fetch argument of a probe: what of the thread's state its records hold. Documentation/trace/uprobetracer.rst; the
 * checks are those of Linux 6.18, seen by tests/abi/uprobe_events.c.
 *
 *   ARG := [NAME "="] FETCH [":" TYPE]
 *   FETCH := %REGISTER | $stack | $stackN | $retval | $comm | @ADDRESS | @+FILE-OFFSET | +|-[u]OFFSET(FETCH) | \NUMBER
 *   TYPE := u8 … u64, s8 …, x8 …, char, string, ustring, bWIDTH@OFFSET/SIZE; [N] behind it makes an array
 *
 * Not Linux's: \"TEXT" is refused.
 */
#ifndef PMU_PROBE_ARG_H
#define PMU_PROBE_ARG_H

#include "abi/types.h"

#define PROBE_ARGS     128 /* of one probe, at most */
#define PROBE_ARG_NAME 32
#define PROBE_ARG_TEXT 63
#define PROBE_OPS      16

enum probe_op_kind {
	PROBE_OP_REG,	/* value: enum probe_reg */
	PROBE_OP_STACK, /* the word number `value` above the stack pointer */
	PROBE_OP_STACKP,
	PROBE_OP_RETVAL,
	PROBE_OP_IMM,
	PROBE_OP_COMM,
	PROBE_OP_FILE,	/* the address of that offset of the probe's file */
	PROBE_OP_DEREF, /* what is at the address so far, plus value */
};

/* Numbers of registers as gpr[] has them, and those that follow. */
enum probe_reg { PROBE_IP = 16, PROBE_FLAGS, PROBE_CS, PROBE_SS, PROBE_ORIG_AX };

struct probe_op {
	enum probe_op_kind kind;
	s64 value;
};

struct probe_arg {
	const char *name, *text; /* not terminated; the text is all that follows the name, with the type */
	u32 name_len, text_len;
	char base;     /* of the type: u, s, x, c (char) or t (string) */
	u8 size;       /* of an element in the record; a string has 4 bytes there that say where it is */
	u8 count;      /* of an array, else 0 */
	u8 low, width; /* of a bit field, width 0: none */
	u32 offset;    /* behind the record's head */
	u32 nr_ops;
	struct probe_op op[PROBE_OPS];
};

static inline u32 probe_arg_bytes(const struct probe_arg *a)
{
	return a->size * (a->count ? a->count : 1);
}

/* Whether the text, up to a space or the end, is an argument: 0 or -EINVAL. */
int probe_arg_parse(const char *text, bool is_return, struct probe_arg *out);

#endif
