/* Definitions of probes: what parsing makes of them, the session's table, and texts that are none. */
#include "event/space.h"
#include "pmu/probe_format.h"
#include "tests/unit/pmu/fake.h"

static void (*const tracepoints)(void) __attribute__((used)) = tp_pmu_init;

/* Every path below /files/ is a file; its number is that of the letters in it. */
static int find(void *ctx, char *path, u64 *dev, u64 *ino)
{
	if (strncmp(path, "/files/", 7))
		return -ENOENT;
	*dev = 8ul << 32;
	*ino = strlen(path);
	return 0;
}

static long write_text(const char *text)
{
	return probe_write(text, strlen(text), find, NULL);
}

static const char *list(void)
{
	static char text[65536];

	probe_list(text, sizeof(text));
	return text;
}

static void test_definitions(void)
{
	struct probe_place place;
	char text[PROBE_TEXT];

	expect_long(probe_def_parse("p:g/e /files/a:0x10(0x20) %di x=+8(%sp):u8[3]", find, NULL, text, &place), 0);
	expect_str(text, "p:g/e /files/a:0x0000000000000010(0x20) arg1=%di x=+8(%sp):u8[3]");
	expect_long((long)place.ino, 8);
	expect_long((long)place.offset, 16);
	expect_long((long)place.ref_ctr, 32);
	expect(!place.is_return);
	expect_long(probe_def_parse("r /files/lib-1.so:1 $retval", find, NULL, text, &place), 0);
	expect_str(text, "r:uprobes/p_lib_0x1 /files/lib-1.so:0x0000000000000001 arg1=$retval");
	expect(place.is_return);
	expect_long(probe_def_parse("p:g/e /else:1", find, NULL, text, &place), -ENOENT);
	expect_long(probe_def_parse("p:g/e /files/a:1 %nosuch", find, NULL, text, &place), -EINVAL);
	expect_long(probe_def_parse("", find, NULL, text, &place), 1);
	expect_long(probe_def_parse("   ", find, NULL, text, &place), 1);
	expect_long(write_text("  # p:g/e /files/a:1"), 20);
}

/* What is shown is longer than what was written, and has to have room. */
static void test_longest(void)
{
	struct probe_place place;
	char line[PROBE_TEXT], text[PROBE_TEXT];
	size_t n;

	for (size_t len = 3800; len < 4000; len += 40) {
		memset(line, 'x', sizeof(line));
		memcpy(line, "p:g/e /files/", 13);
		n = len + (size_t)snprintf(line + len, sizeof(line) - len, ":1");
		for (u32 i = 0; i < 20; i++)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %%di");
		if (len + 19 + 9 * 9 + 11 * 10 < PROBE_TEXT - 1) {
			expect_long(probe_def_parse(line, find, NULL, text, &place), 0);
			expect_str(text + strlen(text) - 10, " arg20=%di");
		} else {
			expect_long(probe_def_parse(line, find, NULL, text, &place), -E2BIG);
		}
	}
}

/* What another member may have written over the session's memory. */
static void test_no_definitions(void)
{
	struct probe_def d;

	for (u32 i = 0; i < 2; i++) {
		memset(probe_text(i), i ? '/' : 'p', PROBE_TEXT);
		expect(!probe_def_read(probe_text(i), &d));
	}
	expect(!probe_def_read("//e /files/a:1", &d));
	expect(!probe_def_read("", &d));
	expect(probe_def_read("p:g/e /files/a:1", &d));
}

/* Operations in the order in which they are done. */
static void test_arguments(void)
{
	struct probe_arg a;

	expect_long(probe_arg_parse("n=-8(+0x10(%bx)):s16 rest", false, &a), 0);
	expect_long(a.nr_ops, 3);
	expect_long(a.op[0].kind, PROBE_OP_REG);
	expect_long(a.op[0].value, 3);
	expect_long(a.op[1].kind, PROBE_OP_DEREF);
	expect_long(a.op[1].value, 16);
	expect_long(a.op[2].value, -8);
	expect_long(a.base, 's');
	expect_long(a.size, 2);
	expect_long(probe_arg_parse("%di:b3@5/16", false, &a), 0);
	expect_long(a.width, 3);
	expect_long(a.low, 5);
	expect_long(a.size, 2);
	expect_long(probe_arg_parse("@+0x40:x32", false, &a), 0);
	expect_long(a.op[0].kind, PROBE_OP_FILE);
	expect_long(a.op[1].kind, PROBE_OP_DEREF);
	expect_long(probe_arg_parse("$retval", false, &a), -EINVAL);
	expect_long(probe_arg_parse("$retval", true, &a), 0);
	expect_long(probe_arg_parse("$comm", true, &a), 0);
	expect_long(a.base, 't');
}

static void test_table(void)
{
	struct probe_part group = {"g", 1}, event = {"e", 1}, part;
	struct filter_field f;
	int row;

	expect_long(
		write_text("p:g/e /files/a:1 x=%di:s8 s=+0(%si):string\np:g/e /files/a:2 x=%si:s8 s=+0(%di):string\n"),
		86);
	expect_long(write_text("p:h/e /files/b:1"), 16);
	expect_long(write_text("p:h/e /files/b:1"), -EEXIST);
	expect_long(write_text("p:h/f /files/b:1(6)"), -EINVAL); /* it has no counter there */
	expect_long(write_text("p:syscalls/mine /files/b:1"), -EEXIST);
	expect_str(list(), "p:g/e /files/a:0x0000000000000001 x=%di:s8 s=+0(%si):string\n"
			   "p:g/e /files/a:0x0000000000000002 x=%si:s8 s=+0(%di):string\n"
			   "p:h/e /files/b:0x0000000000000001\n");
	row = probe_by_name(&group, &event);
	expect_long(row, 0);
	expect_long(probe_row(1)->event, 0);
	expect(probe_field(0, 2, &f) && f.kind == FILTER_STRING && f.offset == 17);
	expect(!probe_field(0, 3, &f));
	expect_long(probe_group(1, &part), 2);
	expect(probe_part_is(&part, "h"));
	expect_long(probe_group(2, &part), -1);
	expect_long(probe_event(&group, 1, &part), -1);
	/* The second takes the place of the first, with its number. */
	expect_long(write_text("-:g/e /files/a:0x0000000000000001"), 33);
	expect_long(probe_by_name(&group, &event), 0);
	expect_long(write_text("-:g/e"), 5);
	expect_long(write_text("-:g/e"), -ENOENT);
	expect_str(list(), "p:h/e /files/b:0x0000000000000001\n");
	expect_long(probe_undefine_all(), 0);
	expect_str(list(), "");
}

/* A place of the uprobe PMU has one row, for all who want it, until nobody does and the table is full. */
static void test_places(void)
{
	struct probe_place place = {.ino = 5};
	int first;

	event_lock();
	first = probe_find_place(&place);
	expect(first >= 0);
	expect_long(probe_find_place(&place), first);
	place.is_return = 1;
	expect(probe_find_place(&place) != first);
	for (u32 i = 0; i < 3 * PROBE_ROWS; i += 64) {
		place.offset = i;
		expect(probe_find_place(&place) >= 0);
	}
	event_unlock();
}

/* Texts made of parts of definitions, and of any bytes. */
static void test_random(void)
{
	static const char *const parts[] = {"p",      "r",       ":",      "/",       "g",  " ", "/files/a", "0x",
					    "1",      "(",       ")",      "%return", "+",  "-", "u",        "%di",
					    "$stack", "$retval", "$comm",  "@",       "\\", "[", "]",        "=",
					    "b4@",    "/32",	 "string", "#",	      "\n"};
	u64 seed = 1;

	for (u32 round = 0; round < 100000; round++) {
		char text[256] = "p:g/e /files/a:1 ";
		size_t n = round % 3 ? strlen(text) : 0;

		for (u32 i = 0; i < 12; i++) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      parts[(seed >> 33) % ARRAY_SIZE(parts)]);
			if (!(seed >> 60))
				text[n++] = (char)(seed >> 50 | 1);
		}
		text[n] = 0;
		if (write_text(text) > 0)
			expect_long(probe_undefine_all(), 0);
	}
}

int main(void)
{
	fake_session();
	pmu_init();
	test_definitions();
	test_longest();
	test_arguments();
	test_table();
	test_places();
	test_random();
	test_no_definitions();
	return unit_result();
}
