/*
 * Filters: from text to nodes. See filter.h. What is accepted, and the errors: the kernel's trace_events_filter.c, as
 * tests/abi/tracepoint_filter.c sees it.
 *
 * Linux quirk: what is wrong with parentheses, quotes and what joins conditions is told by other numbers than EINVAL.
 */
#include "event/filter.h"

#include <asm-generic/errno.h>
#include "event/filter_nodes.h"
#include "rt/fmt.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

#define NESTING 64	/* parentheses and negations in each other */
#define STRING_MAX 256	/* the kernel's MAX_FILTER_STR_VAL */
#define NUMBER_MAX 32

struct compiler {
	const char *at, *text;
	filter_fields *fields;
	u32 source;
	struct filter_node *out;
	u32 n, depth, nesting;
};

static int filter(struct compiler *c);

static void skip_space(struct compiler *c)
{
	while (*c->at == ' ' || (*c->at >= '\t' && *c->at <= '\r'))
		c->at++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The kernel's calc_stack(): the text as a whole. */
static int check_balance(const char *text)
{
	char quote = 0;
	s32 open = 0;

	for (; *text; text++) {
		if (quote)
			quote = *text == quote ? 0 : quote;
		else if (*text == '\'' || *text == '"')
			quote = *text;
		else if (*text == '(')
			open++;
		else if (*text == ')' && --open < 0)
			return refuse(EPERM, "the filter has a ) without a (");
	}
	if (quote)
		return refuse(ESRCH, "a quote is not closed in the filter");
	return open ? refuse(ENOENT, "the filter has a ( without a )") : 0;
}

static int emit(struct compiler *c, struct filter_node node)
{
	if (c->n == FILTER_NODES)
		return refuse(ENOSPC, "the filter is too long");
	check_slow(node.op < OP_COMPARE_NR || c->depth >= (node.op == OP_NOT ? 1 : 2));
	c->out[c->n++] = node;
	if (node.op < OP_COMPARE_NR)
		c->depth++;
	else if (node.op != OP_NOT)
		c->depth--;
	return c->depth <= FILTER_DEPTH ? 0 : refuse(ENOSPC, "the filter is nested too deeply");
}

static bool find_field(const struct compiler *c, const char *name, u32 len, struct filter_field *out)
{
	static const struct filter_field generic[] = {
		{"comm", 4, 0, FILTER_COMM},
		{"COMM", 4, 0, FILTER_COMM},
		{"cpu", 3, 0, FILTER_CPU},
		{"CPU", 3, 0, FILTER_CPU},
		{"common_cpu", 10, 0, FILTER_CPU},
	};

	for (u32 i = 0; c->fields(c->source, i, out); i++)
		if (out->name_len == len && !memcmp(out->name, name, len))
			return true;
	for (u32 i = 0; i < ARRAY_SIZE(generic); i++) {
		*out = generic[i];
		if (out->name_len == len && !memcmp(out->name, name, len))
			return true;
	}
	return false;
}

/* Parentheses around nothing are EINVAL. */
static bool is_empty(const char *text)
{
	while (*text == '(' || *text == ')' || *text == ' ')
		text++;
	return !*text;
}

static int take_field(struct compiler *c, struct filter_field *out)
{
	const char *name = c->at;

	while (is_word(*c->at) || *c->at == '_')
		c->at++;
	if (c->at == name && *name && !is_empty(c->text))
		return refuse(EPERM, "the filter lacks a condition");
	if (!find_field(c, name, (u32)(c->at - name), out))
		return refuse(EINVAL, "the filter names a field that the records have not");
	if (*c->at != '.')
		return 0;
	if (strncmp(c->at, ".ustring", 8))
		return refuse(EINVAL, "only .ustring can follow a field's name");
	c->at += 8;
	/* Linux quirk: it is not minded behind other fields. */
	if (out->kind == FILTER_POINTER)
		out->kind = FILTER_USTRING;
	return 0;
}

static int take_op(struct compiler *c, u8 *op)
{
	static const char text[OP_COMPARE_NR][3] = {"~", "!=", "==", "<=", "<", ">=", ">", "&"};

	skip_space(c);
	for (u8 i = 0; i < OP_COMPARE_NR; i++) {
		if (strncmp(c->at, text[i], strlen(text[i])))
			continue;
		*op = i;
		c->at += strlen(text[i]);
		skip_space(c);
		return 0;
	}
	return refuse(EINVAL, "the filter has a field without an operator");
}

static int take_string(struct compiler *c, struct filter_node node)
{
	char quote = *c->at++;
	const char *end = strchr(c->at, quote);
	u32 words;
	int err;

	if (!filter_is_string(node.kind))
		return refuse(EINVAL, "a string is compared with a number");
	if (node.op > OP_EQ)
		return refuse(EINVAL, "strings are compared by ==, != and ~ only");
	node.len = (u32)(end - c->at);
	if (node.len >= STRING_MAX)
		return refuse(EINVAL, "a string of the filter is too long");
	words = node.len / sizeof(node) + 1;
	err = emit(c, node);
	if (err)
		return err;
	if (c->n + words > FILTER_NODES)
		return refuse(ENOSPC, "the filter is too long");
	memset(&c->out[c->n], 0, words * sizeof(node));
	memcpy(&c->out[c->n], c->at, node.len);
	c->n += words;
	c->at = end + 1;
	return 0;
}

/* The kernel's kstrtoull() with base 0. */
static int parse_number(const char *digits, u64 *out)
{
	u64 value = 0;

	if (digits[0] != '0' || !digits[1] || digits[1] == 'x' || digits[1] == 'X')
		return rt_parse_u64(digits, out);
	for (digits++; *digits; digits++) {
		if (*digits < '0' || *digits > '7' || value >> 61)
			return -EINVAL;
		value = value * 8 + (u64)(*digits - '0');
	}
	*out = value;
	return 0;
}

static int take_number(struct compiler *c, struct filter_node node)
{
	bool minus = *c->at == '-', is_signed = filter_is_signed(node.kind);
	char digits[NUMBER_MAX];
	u32 len = 0;

	if (filter_is_string(node.kind) || node.op == OP_GLOB)
		return refuse(EINVAL, "a number is compared with a string");
	c->at += minus;
	for (; is_word(*c->at) && len < sizeof(digits) - 1; c->at++)
		digits[len++] = *c->at;
	digits[len] = 0;
	if (is_word(*c->at) || parse_number(digits, &node.value))
		return refuse(EINVAL, "not a number of 64 bits in the filter");
	if (minus ? !is_signed || node.value > 1ul << 63 : is_signed && node.value >> 63)
		return refuse(EINVAL, "a number of the filter is out of its field's range");
	node.value = minus ? -node.value : node.value;
	return emit(c, node);
}

static int condition(struct compiler *c)
{
	struct filter_node node = {0};
	struct filter_field field;
	int err = take_field(c, &field);

	err = err ? err : take_op(c, &node.op);
	if (err)
		return err;
	node.kind = field.kind;
	node.offset = field.offset;
	if (*c->at == '\'' || *c->at == '"')
		return take_string(c, node);
	if (is_digit(*c->at) || *c->at == '-')
		return take_number(c, node);
	return refuse(EINVAL, "the filter has an operator without a number or a string in quotes");
}

static int term(struct compiler *c)
{
	bool negated = false;
	int err;

	if (++c->nesting > NESTING)
		return refuse(ENOSPC, "the filter is nested too deeply");
	for (skip_space(c); *c->at == '!'; skip_space(c)) {
		negated = !negated;
		c->at++;
	}
	if (*c->at == '(') {
		c->at++;
		err = filter(c);
		c->at += !err;
	} else {
		err = condition(c);
	}
	skip_space(c);
	c->nesting--;
	return err || !negated ? err : emit(c, (struct filter_node){.op = OP_NOT});
}

/* Takes a sign that is there twice. */
static bool take_join(struct compiler *c, char sign)
{
	if (c->at[0] != sign || c->at[1] != sign)
		return false;
	c->at += 2;
	skip_space(c);
	return true;
}

/* Linux quirk: && and || at the end of the text are not minded. */
static int and_terms(struct compiler *c)
{
	int err = term(c);

	while (!err && take_join(c, '&') && *c->at) {
		err = term(c);
		err = err ? err : emit(c, (struct filter_node){.op = OP_AND});
	}
	return err;
}

/* Up to the parenthesis that closes it, or to the end. */
static int filter(struct compiler *c)
{
	int err = and_terms(c);

	while (!err && take_join(c, '|') && *c->at) {
		err = and_terms(c);
		err = err ? err : emit(c, (struct filter_node){.op = OP_OR});
	}
	if (!err && *c->at && *c->at != ')')
		err = refuse(EPERM, "conditions of the filter are joined by neither && nor ||");
	return err;
}

int filter_compile(const char *text, filter_fields *fields, u32 source, struct filter_node *out)
{
	struct compiler c = {.at = text, .text = text, .fields = fields, .source = source, .out = out};
	int err = check_balance(text);

	err = err ? err : filter(&c);
	return err ? err : (int)c.n;
}
