/*
 * Filters: arithmetic of every type, patterns, limits of the language, and where they are kept. What Linux accepts:
 * tests/abi.
 */
#include "event/filter.h"
#include "tests/unit/event/fake.h"

static const struct filter_field fields[] = {
	{"u8", 2, 0, FILTER_U8},      {"s8", 2, 0, FILTER_S8},	 {"u16", 3, 0, FILTER_U16},
	{"s16", 3, 0, FILTER_S16},    {"u32", 3, 0, FILTER_U32}, {"s32", 3, 0, FILTER_S32},
	{"u64", 3, 0, FILTER_U64},    {"s64", 3, 0, FILTER_S64}, {"name", 4, 8, FILTER_POINTER},
	{"array", 5, 0, FILTER_NONE}, {"odd", 3, 5, FILTER_U32}, {"zero", 4, 8, FILTER_U64},
};

static bool field(u32 source, u32 index, struct filter_field *out)
{
	if (source != 7 || index >= ARRAY_SIZE(fields))
		return false;
	*out = fields[index];
	return true;
}

static struct filter_node nodes[FILTER_NODES];

static int compile(const char *text)
{
	return filter_compile(text, field, 7, nodes);
}

/* Whether a record of these 8 bytes passes, or -errno. */
static int passes(const char *text, u64 value, const char *comm)
{
	u64 record[2] = {value, 0};
	const char *const ustring[2] = {NULL, value ? comm : NULL};
	struct filter_subject s = {(const u8 *)record, comm, ustring, 1, sizeof(record)};
	int n = compile(text);

	return n < 0 ? n : filter_passes(nodes, (u32)n, &s);
}

static void test_types(void)
{
	u64 minus = 0xfffffffffffffffe;

	expect_long(passes("u8 == 254", minus, ""), 1);
	expect_long(passes("u16 == 0xfffe", minus, ""), 1);
	expect_long(passes("u32 == 0xfffffffe", minus, ""), 1);
	expect_long(passes("u64 == 0xfffffffffffffffe", minus, ""), 1);
	expect_long(passes("u8 > 1", minus, ""), 1);
	expect_long(passes("u64 > 1", minus, ""), 1);
	expect_long(passes("s8 == -2", minus, ""), 1);
	expect_long(passes("s16 == -2 && s32 == -2 && s64 == -2", minus, ""), 1);
	expect_long(passes("s8 < 0 && s16 <= -1 && s32 < 1", minus, ""), 1);
	expect_long(passes("s64 < -1 && s64 > -3", minus, ""), 1);
	expect_long(passes("s64 >= 0", minus, ""), 0);
	expect_long(passes("s64 >= -9223372036854775808", minus, ""), 1);
	expect_long(passes("s8 == 127", 127, ""), 1);
	expect_long(passes("u8 == 258", 2, ""), 1); /* as the type holds it */
	expect_long(passes("u8 & 256", 255, ""), 0);
	expect_long(passes("odd == 0x55", 0x55ul << 40, ""), 1);
	expect_long(passes("cpu == 3 && CPU != 4", 0, ""), 1);
	expect_long(passes("array == 0", 0, ""), 0);
	expect_long(passes("array != 0", 0, ""), 0);
}

static void test_patterns(void)
{
	static const struct {
		const char *pattern, *text;
		int want;
	} rows[] = {
		{"", "", 1},	       {"", "a", 0},
		{"*", "", 1},	       {"*", "abc", 1},
		{"a*", "abc", 1},      {"*c", "abc", 1},
		{"*b", "abc", 0},      {"*b*", "abc", 1},
		{"a*c", "abc", 1},     {"a*c", "abcd", 0},
		{"a*b*c", "aXbYc", 1}, {"*ab", "aab", 1},
		{"*aab", "aaaab", 1},  {"?", "", 0},
		{"a?c", "abc", 1},     {"a?", "a", 0},
		{"[a-c]", "b", 1},     {"[a-c]", "d", 0},
		{"[!a-c]", "d", 1},    {"[]]", "]", 1},
		{"[a-]", "-", 1},      {"[ab", "[ab", 1},
		{"\\*", "*", 1},       {"\\*", "a", 0},
		{"\\?", "x", 0},       {"a[0-9]*z", "a7xyz", 1},
		{"**", "a", 1},	       {"*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", 0},
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		char filter[64];
		int got;

		snprintf(filter, sizeof(filter), "comm ~ \"%s\"", rows[i].pattern);
		got = passes(filter, 0, rows[i].text);
		expect_long(got, rows[i].want);
		if (got != rows[i].want)
			fprintf(stderr, "  pattern %s of %s\n", rows[i].pattern, rows[i].text);
	}
	/* Texts of every length lie in whole nodes. */
	for (u32 len = 0; len < 64; len++) {
		char comm[65], filter[128];

		memset(comm, 'x', sizeof(comm));
		comm[len] = 0;
		snprintf(filter, sizeof(filter), "zero == 0 && comm == \"%s\" && zero == 0", comm);
		expect_long(passes(filter, 0, comm), 1);
		expect_long(passes(filter, 0, "y"), 0);
	}
}

/* n times `open`, then `middle`, then n times `close`. */
static int nested(u32 n, const char *open, const char *middle, const char *close)
{
	static char text[FILTER_TEXT];
	size_t at = 0;

	for (u32 i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", open);
	at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", middle);
	for (u32 i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", close);
	return passes(text, 0, "");
}

static void test_limits(void)
{
	char text[FILTER_TEXT];

	expect_long(nested(40, "(", "zero == 0", ")"), 1);
	expect_long(nested(100, "(", "zero == 0", ")"), -ENOSPC);
	expect_long(nested(30, "zero == 1 || (", "zero == 0", ")"), 1);
	expect_long(nested(31, "!(", "zero == 0", ")"), 0);
	expect_long(nested(200, "", "zero == 0", " && zero == 0"), 1);
	expect_long(nested(300, "", "zero == 0", "&&zero == 0"), -ENOSPC);
	snprintf(text, sizeof(text), "comm == \"%0255d\"", 0);
	expect(compile(text) > 16);
	snprintf(text, sizeof(text), "comm == \"%0256d\"", 0);
	expect_long(compile(text), -EINVAL);
	expect_long(passes("name == \"x\"", 0, ""), 0);
	expect_long(passes("name != \"x\"", 0, ""), 0);
	expect_long(passes("name.ustring == \"x\"", 1, "x"), 1);
	expect_long(passes("name.ustring == \"x\" || name.ustring != \"x\"", 0, "x"), 0); /* unreadable */
	expect_long(compile("name.ustringx == \"x\""), -EINVAL);
	expect_long(compile("name.function == 1"), -EINVAL);
	expect_long(compile("u8.ustring == \"x\""), -EINVAL);
	expect_long(compile("u8.string == 1"), -EINVAL);
	expect_long(compile("name.ustring == 1"), -EINVAL);
	expect_long(filter_compile("u8 == 1", field, 8, nodes), -EINVAL);
}

static int attach(long fd, const char *text)
{
	int n = compile(text), err;

	event_lock();
	err = n < 0 ? n : filter_attach(event_slot(event_files_lookup(fake_current, (u64)fd)), nodes, (u32)n);
	event_unlock();
	return err;
}

static u32 place_of(long fd)
{
	return event_slot(event_files_lookup(fake_current, (u64)fd))->filter.at;
}

/* Equal filters share a place, others do not overlap, and what the last event leaves is taken again. */
static void test_places(void)
{
	long a = open_simple(PERF_TYPE_SOFTWARE, 0, -1), b = open_simple(PERF_TYPE_SOFTWARE, 0, -1),
	     c = open_simple(PERF_TYPE_SOFTWARE, 0, -1);
	u32 first;

	expect_long(attach(a, "u8 == 1 && u16 == 2"), 0);
	expect_long(attach(b, "u8 == 1 && u16 == 2"), 0);
	expect_long(attach(c, "u8 == 3"), 0);
	first = place_of(a);
	expect_long(place_of(b), first);
	expect_long(place_of(c), first + 3);
	expect_valid("filters");
	event_files_close(fake_current, (u64)a);
	a = open_simple(PERF_TYPE_SOFTWARE, 0, -1);
	expect_long(attach(a, "u8 == 4"), 0);
	expect_long(place_of(a), first + 4);
	event_files_close(fake_current, (u64)a);
	event_files_close(fake_current, (u64)b);
	a = open_simple(PERF_TYPE_SOFTWARE, 0, -1);
	expect_long(attach(a, "u8 == 5"), 0);
	expect_long(place_of(a), first);
	event_files_close(fake_current, (u64)a);
	event_files_close(fake_current, (u64)c);
	expect_empty();
}

int main(void)
{
	fake_session();
	fake[1].cpu = 3;
	test_types();
	test_patterns();
	test_limits();
	test_places();
	return unit_result();
}
