/* See probe_arg.h. */
#include "pmu/probe_arg.h"

#include <asm-generic/errno.h>
#include "pmu/probe_text.h"
#include "rt/fmt.h"
#include "rt/refuse.h"
#include "rt/string.h"

#define ARRAY_MAX 64

static const char *const regs[] = {
	"ax",
	"cx",
	"dx",
	"bx",
	"sp",
	"bp",
	"si",
	"di",
	"r8",
	"r9",
	"r10",
	"r11",
	"r12",
	"r13",
	"r14",
	"r15",
	[PROBE_IP] = "ip",
	[PROBE_FLAGS] = "flags",
	[PROBE_CS] = "cs",
	[PROBE_SS] = "ss",
	[PROBE_ORIG_AX] = "orig_ax",
};

static int add_op(struct probe_arg *a, enum probe_op_kind kind, s64 value)
{
	if (a->nr_ops + 2 > PROBE_OPS)
		return refuse(EINVAL, "the argument is nested too deeply");
	a->op[a->nr_ops++] = (struct probe_op){kind, value};
	return 0;
}

/* ---- what is fetched ---- */

static int parse_register(const struct probe_part *p, struct probe_arg *a)
{
	for (u32 i = 0; i < ARRAY_SIZE(regs); i++)
		if (probe_part_is(p, regs[i]))
			return add_op(a, PROBE_OP_REG, (s64)i);
	return refuse(EINVAL, "no register has this name: as %di, not %rdi");
}

static int parse_variable(const struct probe_part *p, bool is_return, struct probe_arg *a)
{
	struct probe_part rest = {p->at + 5, p->len - 5};
	u64 n;

	/* Linux quirk: whatever follows. */
	if (is_return && probe_part_begins(p, "retval"))
		return add_op(a, PROBE_OP_RETVAL, 0);
	if (probe_part_is(p, "comm") || probe_part_is(p, "COMM"))
		return add_op(a, PROBE_OP_COMM, 0);
	if (probe_part_is(p, "stack"))
		return add_op(a, PROBE_OP_STACKP, 0);
	if (probe_part_begins(p, "stack") && probe_part_number(&rest, 10, &n))
		return add_op(a, PROBE_OP_STACK, (s64)n);
	return refuse(EINVAL, "no such variable here: $stack, $stackN, $comm, and $retval of probes of returns");
}

static int parse_memory(struct probe_part p, struct probe_arg *a)
{
	bool in_file = p.len && *p.at == '+';
	u64 n;
	int err;

	if (in_file)
		p = (struct probe_part){p.at + 1, p.len - 1};
	/* Linux quirk: numbers without end are ERANGE. */
	err = in_file ? probe_part_signed(&p, (s64 *)&n) : probe_part_unsigned(&p, &n);
	if (err)
		return refuse(-err, "@ needs an address, or + and an offset in the file");
	err = add_op(a, in_file ? PROBE_OP_FILE : PROBE_OP_IMM, (s64)n);
	return err ? err : add_op(a, PROBE_OP_DEREF, 0);
}

/* "5", "-5", "+5"; Linux quirk: "+-5", too. */
static int parse_value(struct probe_part p, struct probe_arg *a)
{
	bool plus = *p.at == '+';
	s64 n;
	int err;

	p = (struct probe_part){p.at + plus, p.len - plus};
	err = plus || *p.at == '-' ? probe_part_signed(&p, &n) : probe_part_unsigned(&p, (u64 *)&n);
	return err ? refuse(-err, "the value is not a number of 64 bits") : add_op(a, PROBE_OP_IMM, n);
}

/* What follows its sign. Linux quirk: behind "+" that may be another one. */
static int parse_offset(bool minus, struct probe_part p, s64 *out)
{
	u64 n;
	int err = minus ? probe_part_unsigned(&p, &n) : probe_part_signed(&p, (s64 *)&n);

	if (!err && minus && n > 1ul << 63)
		err = -ERANGE;
	if (err)
		return refuse(-err, "the offset is not a number of 64 bits");
	*out = (s64)(minus ? -n : n);
	return 0;
}

/* What surrounds the innermost, from outside to inside; their operations come in the other order. */
static int parse_fetch(struct probe_part p, bool is_return, struct probe_arg *a)
{
	s64 offset[PROBE_OPS];
	u32 n = 0;
	int err;

	while (p.len && (*p.at == '+' || *p.at == '-')) {
		const char *open = probe_part_find(&p, '('), *close = probe_part_find_last(&p, ')');
		struct probe_part number;
		bool user = p.len > 1 && p.at[1] == 'u';

		if (!open)
			return refuse(EINVAL, "an offset needs parentheses: +8(%sp)");
		if (n == PROBE_OPS)
			return refuse(EINVAL, "the argument is nested too deeply");
		number = (struct probe_part){p.at + 1 + user, (u32)(open - p.at) - 1 - user};
		err = parse_offset(*p.at == '-', number, &offset[n++]);
		if (err)
			return err;
		if (!close || close < open)
			return refuse(EINVAL, "an offset needs parentheses: +8(%sp)");
		p = (struct probe_part){open + 1, (u32)(close - open) - 1};
	}
	if (p.len < 2)
		return refuse(EINVAL, "nothing is to be fetched");
	switch (*p.at) {
	case '%':
		err = parse_register(&(struct probe_part){p.at + 1, p.len - 1}, a);
		break;
	case '$':
		err = parse_variable(&(struct probe_part){p.at + 1, p.len - 1}, is_return, a);
		break;
	case '@':
		err = parse_memory((struct probe_part){p.at + 1, p.len - 1}, a);
		break;
	case '\\':
		err = parse_value((struct probe_part){p.at + 1, p.len - 1}, a);
		break;
	default:
		return refuse(EINVAL, "an argument begins with one of % $ @ + - \\");
	}
	if (!err && n && a->op[0].kind == PROBE_OP_COMM)
		err = refuse(EINVAL, "$comm is no address");
	while (!err && n)
		err = add_op(a, PROBE_OP_DEREF, offset[--n]);
	return err;
}

/* ---- types ---- */

static bool set_number_type(const struct probe_part *p, struct probe_arg *a)
{
	struct probe_part digits = {p->at + 1, p->len - 1};
	u64 bits;

	if (p->len < 2 || (*p->at != 'u' && *p->at != 's' && *p->at != 'x') || p->at[1] == '0' ||
	    !probe_part_number(&digits, 10, &bits) || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return false;
	a->base = *p->at;
	a->size = (u8)(bits / 8);
	return true;
}

/* "b4@2/32": 4 bits from bit 2 of a u32, and first of all a u32. */
static bool set_bit_field_type(const struct probe_part *p, struct probe_arg *a)
{
	const char *slash = probe_part_find(p, '/');
	u64 bits;

	if (!slash || !probe_part_number(&(struct probe_part){slash + 1, (u32)(p->at + p->len - slash) - 1}, 0, &bits))
		return false;
	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return false;
	a->base = 'u';
	a->size = (u8)(bits / 8);
	return true;
}

static bool is_bit_field(const struct probe_part *p)
{
	return p->len && *p->at == 'b';
}

static int set_bit_field(const struct probe_part *p, struct probe_arg *a)
{
	const char *at = probe_part_find(p, '@'), *slash = probe_part_find(p, '/');
	u64 width, low, bits = 8ul * a->size;

	if (!at || slash < at ||
	    !probe_part_number(&(struct probe_part){p->at + 1, (u32)(at - p->at) - 1}, 0, &width) ||
	    !probe_part_number(&(struct probe_part){at + 1, (u32)(slash - at) - 1}, 0, &low))
		return refuse(EINVAL, "a bit field is bWIDTH@OFFSET/SIZE");
	if (!width || width > bits || low > bits - width)
		return refuse(EINVAL, "the bit field is not within what it is of");
	a->low = (u8)low;
	a->width = (u8)width;
	return 0;
}

static bool set_type(const struct probe_part *p, struct probe_arg *a)
{
	if (probe_part_is(p, "string") || probe_part_is(p, "ustring")) {
		a->base = 't';
		a->size = 4;
		return true;
	}
	if (probe_part_is(p, "char")) {
		a->base = 'c';
		a->size = 1;
		return true;
	}
	return is_bit_field(p) ? set_bit_field_type(p, a) : set_number_type(p, a);
}

/* Takes "[N]" off the end. */
static int take_array(struct probe_part *type, struct probe_arg *a)
{
	const char *open = probe_part_find(type, '['), *close = probe_part_find(type, ']');
	u64 n;

	if (!open)
		return 0;
	if (!close || close != type->at + type->len - 1)
		return refuse(EINVAL, "an array's type ends in [N]");
	if (!probe_part_number(&(struct probe_part){open + 1, (u32)(close - open) - 1}, 0, &n) || !n || n > ARRAY_MAX)
		return refuse(EINVAL, "an array has 1 to 64 elements");
	a->count = (u8)n;
	type->len = (u32)(open - type->at);
	return 0;
}

/* The kernel looks at the type before it looks at what is fetched, and then at whether they fit. */
static int parse_type(struct probe_part *type, const struct probe_part *body, struct probe_arg *a)
{
	bool comm = probe_part_is(body, "$comm") || probe_part_is(body, "$COMM");
	int err = take_array(type, a);

	if (err)
		return err;
	if (!type->at)
		*type = comm ? (struct probe_part){"string", 6} : (struct probe_part){"x64", 3};
	if (comm && (!probe_part_is(type, "string") || a->count))
		return refuse(EINVAL, "$comm is a string");
	return set_type(type, a) ? 0 : refuse(EINVAL, "no such type");
}

static int check_type(const struct probe_part *type, struct probe_arg *a)
{
	bool comm = a->op[0].kind == PROBE_OP_COMM, memory = a->op[a->nr_ops - 1].kind == PROBE_OP_DEREF;
	int err = is_bit_field(type) ? set_bit_field(type, a) : 0;

	if (err)
		return err;
	if (a->base == 't' && !memory && !comm && a->op[0].kind != PROBE_OP_IMM)
		return refuse(EINVAL, "a string is something in memory");
	/* Linux quirk: numbers behind +u have no arrays, strings have, also those at an address that is given. */
	if (a->count && a->base != 't' && (!memory || a->text[1] == 'u'))
		return refuse(EINVAL, "an array is something in memory");
	return 0;
}

/* ---- the whole ---- */

static bool is_reserved(const struct probe_part *name)
{
	static const char *const names[] = {"common_type", "common_flags", "common_preempt_count", "common_pid",
					    "common_tgid", "__probe_ip",   "__probe_ret_ip",	   "__probe_func"};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (probe_part_is(name, names[i]))
			return true;
	return false;
}

int probe_arg_parse(const char *text, bool is_return, struct probe_arg *out)
{
	struct probe_part all = {text, probe_word(text)}, name, body = all, type = {NULL, 0};
	const char *equals = probe_part_find(&all, '='), *colon;
	int err;

	*out = (struct probe_arg){0};
	if (equals) {
		name = (struct probe_part){text, (u32)(equals - text)};
		body = (struct probe_part){equals + 1, all.len - name.len - 1};
		if (name.len > PROBE_ARG_NAME || !probe_is_name(&name, false) || is_reserved(&name))
			return refuse(EINVAL, "not a name that an argument can have");
		out->name = name.at;
		out->name_len = name.len;
	}
	if (!body.len || body.len > PROBE_ARG_TEXT)
		return refuse(body.len ? E2BIG : EINVAL, "an argument has 1 to 63 characters");
	out->text = body.at;
	out->text_len = body.len;
	colon = probe_part_find(&body, ':');
	if (colon) {
		type = (struct probe_part){colon + 1, (u32)(body.at + body.len - colon) - 1};
		body.len = (u32)(colon - body.at);
	}
	err = parse_type(&type, &body, out);
	err = err ? err : parse_fetch(body, is_return, out);
	return err ? err : check_type(&type, out);
}
