/* Filters: what passes, and which event has which. See filter.h. */
#include "event/filter.h"

#include <asm-generic/errno.h>
#include "event/event.h"
#include "event/filter_nodes.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

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
			bool escaped = *p == '\\' && p[1];

			p += escaped;
			same = *s && (*p == *s || (*p == '?' && !escaped));
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
		return (u32)value;
	case FILTER_S8:
		return (u64)(s8)value;
	case FILTER_S16:
		return (u64)(s16)value;
	case FILTER_S32:
	case FILTER_CPU:
		return (u64)(s32)value;
	default:
		return value;
	}
}

/* One that is not there is empty. */
static const char *string_in(const struct filter_subject *s, u32 offset)
{
	u16 where[2];

	if (offset + sizeof(where) > s->size)
		return "";
	memcpy(where, s->record + offset, sizeof(where));
	if (!where[1] || where[0] + where[1] > s->size || s->record[where[0] + where[1] - 1])
		return "";
	return (const char *)s->record + where[0];
}

static const char *chars_in(const struct filter_subject *s, u32 offset)
{
	const char *at = (const char *)s->record + offset;

	return offset + 16 <= s->size && !at[15] ? at : "";
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

	switch (kind) {
	case FILTER_NONE:
	case FILTER_POINTER:
		return false;
	case FILTER_USTRING:
		ustring = s->ustring && offset < 8 * FILTER_WORDS ? s->ustring[offset / 8] : NULL;
		return ustring && compare_string(node, ustring);
	case FILTER_STRING:
		return compare_string(node, string_in(s, offset));
	case FILTER_CHARS:
		return compare_string(node, chars_in(s, offset));
	case FILTER_COMM:
		return compare_string(node, s->comm);
	case FILTER_CPU:
		if (node->op == OP_BAND) /* Linux quirk: that is never true. */
			return false;
		value = host_task_cpu(s->task);
		break;
	default:
		if (kind >= ARRAY_SIZE(bytes) || offset + bytes[kind] > s->size)
			return false;
		memcpy(&value, s->record + offset, bytes[kind]);
		break;
	}
	return compare(node->op, as_type(kind, value), as_type(kind, node->value), filter_is_signed(kind));
}

/* With the string that follows it. Joints have no kind. */
static u32 nodes_of(const struct filter_node *node)
{
	return 1 + (filter_is_string(node->kind) ? node->len / (u32)sizeof(*node) + 1 : 0);
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
	const struct event *root = event_root(e);
	u64 word = __atomic_load_n((const u64 *)&root->filter, __ATOMIC_RELAXED);
	const struct event_filter f = {(u32)word, (u32)(word >> 32)};

	return !f.n || (is_there(&f) && filter_passes(&event_space->filter[f.at], f.n, s));
}
