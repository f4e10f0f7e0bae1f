/*
 * The arguments of a probe's record: see uprobes.h. What cannot be read is 0, or a string of no length. Strings stand
 * behind all arguments in the order of these.
 */
#include <asm-generic/errno.h>
#include "perf/uprobes.h"
#include "pmu/probe_def.h"
#include "rt/guest.h"
#include "rt/string.h"

/* A record being filled. */
struct fetching {
	const struct thread *t;
	const struct snapshot_regs *regs;
	gva base; /* address of the file's beginning, if all of it were mapped as the probe's place is */
	u8 *record;
	u32 end; /* of the strings so far */
	u32 room;
};

static u64 register_of(const struct snapshot_regs *regs, u32 nr)
{
	switch (nr) {
	case PROBE_IP:
		return regs->rip;
	case PROBE_FLAGS:
		return regs->rflags;
	case PROBE_CS:
		return SNAPSHOT_CS;
	case PROBE_SS:
		return SNAPSHOT_SS;
	case PROBE_ORIG_AX:
		return ~0ul;
	default:
		return regs->gpr[nr % 16];
	}
}

/* The kernel's process_fetch_insn(): operations in front of the last one, if that is in memory, of value so far. */
static u64 apply(const struct fetching *f, const struct probe_op *op, u64 value)
{
	u64 word = 0;

	switch (op->kind) {
	case PROBE_OP_REG:
		return register_of(f->regs, (u32)op->value);
	case PROBE_OP_STACK:
		guest_read(&word, f->regs->gpr[REG_SP] + 8 * (u64)op->value, sizeof(word));
		return word;
	case PROBE_OP_STACKP:
		return f->regs->gpr[REG_SP];
	case PROBE_OP_RETVAL:
		return f->regs->gpr[REG_RESULT];
	case PROBE_OP_IMM:
		return (u64)op->value;
	case PROBE_OP_FILE:
		return f->base + (u64)op->value;
	case PROBE_OP_DEREF:
		guest_read(&word, value + (u64)op->value, sizeof(word));
		return word;
	default:
		return 0;
	}
}

static void put_string(struct fetching *f, u32 offset, gva from, bool is_comm)
{
	u32 room = f->room - f->end;
	u16 where[2] = {(u16)f->end, 0};
	char *to = (char *)f->record + f->end;
	long len;

	if (is_comm)
		len = (long)strnlen(f->t->task->comm, sizeof(f->t->task->comm) - 1);
	else
		len = room > 1 ? guest_read_str(to, from, room) : -1;
	if (is_comm && (u32)len < room) {
		memcpy(to, f->t->task->comm, (size_t)len);
		to[len] = 0;
	}
	if (len == -ENAMETOOLONG)
		len = (long)room - 1;
	if (len >= 0 && (u32)len < room) {
		where[1] = (u16)(len + 1);
		f->end += where[1];
	}
	memcpy(f->record + offset, where, sizeof(where));
}

static u64 bit_field(const struct probe_arg *a, u64 value)
{
	return a->width ? value >> a->low & (~0ul >> (64 - a->width)) : value;
}

/* One element, whose value or address is known. */
static void put(struct fetching *f, const struct probe_arg *a, u32 offset, u64 value, bool in_memory)
{
	u64 word = 0;

	if (a->base == 't') {
		put_string(f, offset, value, a->op[0].kind == PROBE_OP_COMM);
		return;
	}
	if (in_memory)
		guest_read(&word, value, a->size);
	else
		word = value;
	word = bit_field(a, word);
	memcpy(f->record + offset, &word, a->size);
}

/*
 * The elements of an array of strings are their addresses. Linux quirk: where the argument is a number, that is the
 * address of the first string, and there are no others.
 */
static void fetch(struct fetching *f, const struct probe_arg *a, u32 offset)
{
	bool in_memory = a->op[a->nr_ops - 1].kind == PROBE_OP_DEREF;
	u64 value = 0;

	for (u32 i = 0; i + in_memory < a->nr_ops; i++)
		value = apply(f, &a->op[i], value);
	if (in_memory)
		value += (u64)a->op[a->nr_ops - 1].value;
	if (!a->count)
		put(f, a, offset, value, in_memory);
	for (u32 i = 0; i < a->count; i++) {
		u64 at = value + (u64)i * (a->base == 't' ? 8 : a->size), string = 0;

		if (a->base == 't' && in_memory)
			guest_read(&string, at, sizeof(string));
		if (a->base == 't')
			at = in_memory ? string : i ? 0 : value;
		put(f, a, offset + i * a->size, at, true);
	}
}

static u32 bytes_of(const struct probe_def *d)
{
	struct probe_args args = {.at = d->args};
	struct probe_arg a;

	while (probe_def_next(d, &args, &a))
		;
	return args.offset;
}

u32 uprobe_fetch(const struct thread *t, u32 row, gva site, const struct snapshot_regs *regs, u8 *record, u32 head,
		 u32 room)
{
	struct fetching f = {t, regs, site - probe_row(row)->place.offset, record, head, room};
	struct probe_def d;
	struct probe_args args;
	struct probe_arg a;
	u32 strings;

	if (!probe_def_read(probe_text(row), &d))
		return head;
	f.end += bytes_of(&d);
	if (f.end > room)
		return head;
	strings = f.end;
	args = (struct probe_args){.at = d.args};
	/* The text is in the session's memory: what is read now may be longer. */
	while (probe_def_next(&d, &args, &a) && head + args.offset <= strings)
		fetch(&f, &a, head + a.offset);
	return f.end;
}
