/*
 * See filter.h. What is accepted, and the errors: the kernel's trace_events_filter.c, as tests/abi/tracepoint_filter.c sees it.
 *
 * Linux quirk: what is wrong with parentheses, quotes and what joins conditions is told by other numbers than EINVAL.
 */
#include "event/filter.h"

#include <asm-generic/errno.h>
#include "event/event.h"
#include "rt/fmt.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

enum op { OP_GLOB, OP_NE, OP_EQ, OP_LE, OP_LT, OP_GE, OP_GT, OP_BAND, OP_COMPARE_NR, OP_AND, OP_OR, OP_NOT };

#define NESTING 64	/* parentheses and negations in each other */
#define DEPTH 64	/* conditions that wait for what they are joined with: bits of a word */
#define STRING_MAX 256	/* the kernel's MAX_FILTER_STR_VAL */
#define NUMBER_MAX 32

/* ---- from text to nodes ---- */

struct compiler {
	const char *at;
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
	return c->depth <= DEPTH ? 0 : refuse(ENOSPC, "the filter is nested too deeply");
}

static bool find_field(const struct compiler *c, const char *name, u32 len, struct filter_field *out)
{
	static const struct filter_field generic[] = {
		{"comm", 4, 0, FILTER_COMM},
		{"COMM", 4, 0, FILTER_COMM},
		{"cpu", 3, 0, FILTER_CPU},
		{"CPU", 3, 0, FILTER_CPU},
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

static int take_field(struct compiler *c, struct filter_field *out)
{
	const char *name = c->at;

	while (is_word(*c->at) || *c->at == '_')
		c->at++;
	if (!find_field(c, name, (u32)(c->at - name), out))
		return refuse(EINVAL, "the filter names a field that the records have not");
	if (*c->at != '.')
		return 0;
	if (out->kind != FILTER_POINTER || strncmp(c->at, ".ustring", 8) || is_word(c->at[8]))
		return refuse(EINVAL, "only .ustring can follow a field's name, and only if it is the address of a string");
	c->at += 8;
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

static bool is_string(enum filter_kind kind)
{
	return kind == FILTER_POINTER || kind == FILTER_USTRING || kind == FILTER_COMM;
}

static int take_string(struct compiler *c, struct filter_node node)
{
	char quote = *c->at++;
	const char *end = strchr(c->at, quote);
	u32 words;
	int err;

	if (!is_string(node.kind))
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
	bool minus = *c->at == '-', is_signed = node.kind >= FILTER_S8 && node.kind <= FILTER_S64;
	char digits[NUMBER_MAX];
	u32 len = 0;

	if (is_string(node.kind) || node.op == OP_GLOB)
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
	struct compiler c = {.at = text, .fields = fields, .source = source, .out = out};
	int err = check_balance(text);

	err = err ? err : filter(&c);
	return err ? err : (int)c.n;
}

/* ---- what passes ---- */

/* A [set] at *pattern, which is moved behind it. */
static bool in_set(const char **pattern, char c)
{
	const char *p = *pattern + 1;
	bool negated = *p == '!', found = false;

	p += negated;
	do {
		char from = *p, to = from;

		if (!from) { /* not a set after all */
			(*pattern)++;
			return c == '[';
		}
		p++;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			to = p[1];
			p += 2;
		}
		found |= from <= c && c <= to;
	} while (*p != ']');
	*pattern = p + 1;
	return found != negated;
}

/* The kernel's glob_match(). */
static bool matches(const char *pattern, const char *s)
{
	const char *retry = NULL, *retry_at = s;

	for (;;) {
		const char *p = pattern;
		bool same;

		if (*p == '*') {
			retry = ++pattern;
			retry_at = s;
			continue;
		}
		if (!*s && !*p)
			return true;
		if (*s && *p == '[') {
			same = in_set(&p, *s);
		} else {
			p += *p == '\\' && p[1];
			same = *s && (*p == *s || (*p == '?' && p[-(p > pattern)] != '\\'));
			p++;
		}
		if (same) {
			pattern = p;
			s++;
			continue;
		}
		if (!retry || !*retry_at)
			return false;
		pattern = retry;
		s = ++retry_at;
	}
}

static bool compare_string(const struct filter_node *node, const char *s)
{
	const char *text = (const char *)(node + 1);

	if (node->op == OP_GLOB)
		return matches(text, s);
	return !strcmp(text, s) == (node->op == OP_EQ);
}

static bool compare(u8 op, u64 a, u64 b, bool is_signed)
{
	u64 flip = is_signed ? 1ul << 63 : 0; /* makes the order of signed numbers that of unsigned ones */

	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return (a ^ flip) < (b ^ flip);
	case OP_LE:
		return (a ^ flip) <= (b ^ flip);
	case OP_GT:
		return (a ^ flip) > (b ^ flip);
	case OP_GE:
		return (a ^ flip) >= (b ^ flip);
	default:
		return a & b;
	}
}

/* As the field's type holds it. */
static u64 as_type(enum filter_kind kind, u64 value)
{
	switch (kind) {
	case FILTER_U8:
		return (u8)value;
	case FILTER_U16:
		return (u16)value;
	case FILTER_U32:
	case FILTER_CPU:
		return (u32)value;
	case FILTER_S8:
		return (u64)(s8)value;
	case FILTER_S16:
		return (u64)(s16)value;
	case FILTER_S32:
		return (u64)(s32)value;
	default:
		return value;
	}
}

static bool holds(const struct filter_node *node, const struct filter_subject *s)
{
	static const u8 bytes[] = {
		[FILTER_U8] = 1, [FILTER_U16] = 2, [FILTER_U32] = 4, [FILTER_U64] = 8,
		[FILTER_S8] = 1, [FILTER_S16] = 2, [FILTER_S32] = 4, [FILTER_S64] = 8,
	};
	u32 offset = __atomic_load_n(&node->offset, __ATOMIC_RELAXED);
	u8 kind = __atomic_load_n(&node->kind, __ATOMIC_RELAXED);
	const char *ustring;
	u64 value = 0;

	if (offset >= 8 * FILTER_WORDS)
		return false;
	switch (kind) {
	case FILTER_NONE:
	case FILTER_POINTER:
		return false;
	case FILTER_USTRING:
		ustring = s->ustring ? s->ustring[offset / 8] : NULL;
		return ustring && compare_string(node, ustring);
	case FILTER_COMM:
		return compare_string(node, s->comm);
	case FILTER_CPU:
		value = host_task_cpu(s->task);
		break;
	default:
		if (kind >= ARRAY_SIZE(bytes))
			return false;
		memcpy(&value, s->record + offset, bytes[kind]);
		break;
	}
	return compare(node->op, as_type(kind, value), as_type(kind, node->value), kind >= FILTER_S8 && kind <= FILTER_S64);
}

/* With the string that follows it. Joints have no kind. */
static u32 nodes_of(const struct filter_node *node)
{
	return 1 + (is_string(node->kind) ? node->len / (u32)sizeof(*node) + 1 : 0);
}

bool filter_passes(const struct filter_node *filter, u32 n, const struct filter_subject *s)
{
	u64 stack = 0; /* a bit for each condition that waits, the last one lowest */

	for (u32 i = 0; i < n; i += nodes_of(&filter[i])) {
		const struct filter_node *node = &filter[i];

		switch (node->op) {
		case OP_AND:
			stack = stack >> 1 & (stack | ~1ul);
			break;
		case OP_OR:
			stack = stack >> 1 | (stack & 1);
			break;
		case OP_NOT:
			stack ^= 1;
			break;
		default:
			stack = stack << 1 | holds(node, s);
			break;
		}
	}
	return stack & 1;
}

/* ---- filters of events ---- */

static bool overlaps(u32 at, u32 n, const struct event *e)
{
	return e->filter.n && at < e->filter.at + e->filter.n && e->filter.at < at + n;
}

/* Where n nodes are free from `at` on. */
static u32 find_free(u32 at, u32 n)
{
	const struct event *e;

	for (bool moved = true; moved;) {
		moved = false;
		for_each_opened(e) {
			if (!overlaps(at, n, e))
				continue;
			at = e->filter.at + e->filter.n;
			moved = true;
		}
	}
	return at;
}

static bool is_there(const struct event_filter *f)
{
	return f->at < EVENT_FILTER_NODES && f->n <= EVENT_FILTER_NODES - f->at;
}

/* Many events have the same one, as a rule. */
static bool find_same(const struct filter_node *filter, u32 n, struct event_filter *out)
{
	const struct event *e;

	for_each_opened(e) {
		*out = e->filter;
		if (out->n == n && is_there(out) && !memcmp(&event_space->filter[out->at], filter, n * sizeof(*filter)))
			return true;
	}
	return false;
}

bool filter_wants_ustrings(void)
{
	return __atomic_load_n(&event_space->ustrings, __ATOMIC_RELAXED);
}

static bool has_ustring(const struct filter_node *filter, u32 n)
{
	for (u32 i = 0; i < n; i += nodes_of(&filter[i]))
		if (filter[i].kind == FILTER_USTRING)
			return true;
	return false;
}

int filter_attach(struct event *root, const struct filter_node *filter, u32 n)
{
	struct event_filter where;
	u64 word;

	check_slow(event_is_locked());
	if (has_ustring(filter, n))
		__atomic_store_n(&event_space->ustrings, 1, __ATOMIC_RELAXED);

	if (!find_same(filter, n, &where)) {
		where = (struct event_filter){find_free(0, n), n};
		if (where.at + n > EVENT_FILTER_NODES)
			return refuse(ENOMEM, "the filters of the session take all memory for them");
		(memcpy)(&event_space->filter[where.at], filter, n * sizeof(*filter));
	}
	memcpy(&word, &where, sizeof(word));
	__atomic_store_n((u64 *)&root->filter, word, __ATOMIC_RELEASE);
	return 0;
}

bool filter_passes_event(const struct event *e, const struct filter_subject *s)
{
	const struct event *root = e->parent ? event_slot(e->parent) : e;
	u64 word = __atomic_load_n((const u64 *)&root->filter, __ATOMIC_RELAXED);
	const struct event_filter f = {(u32)word, (u32)(word >> 32)};

	return !f.n || (is_there(&f) && filter_passes(&event_space->filter[f.at], f.n, s));
}
