/* uprobe_events: what is a definition, what is refused and how, and the files of what was defined. */
#include "tests/abi/uprobe.h"

static char path[PATH_MAX];

/* A line in which { stands for the test's group and } for a file. */
static int define_line(const char *line)
{
	char text[8192];
	size_t n = 0;

	for (; *line && n < sizeof(text) - PATH_MAX; line++) {
		if (*line == '{')
			n += (size_t)sprintf(text + n, "%s", uprobe_group);
		else if (*line == '}')
			n += (size_t)sprintf(text + n, "%s", path);
		else
			text[n++] = *line;
	}
	text[n] = 0;
	return uprobe_define("%s", text);
}

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void lines(void)
{
	static const struct {
		const char *line;
		int err;
	} rows[] = {
		{"p:{/e }:0x1000", 0},
		{"p:{/e }:0x1000", EEXIST},
		{"p:{/e }:0x1004", 0},
		{"r:{/e }:0x1004", EEXIST},
		{"p:{/e }:0x1004 a=%ax", EEXIST},
		{"p:{/e2 }:0x1004 a=%ax", 0},
		{"p:{/e2 }:0x1008 a=%bx", 0},
		{"p:{/e2 }:0x1009 a=%bx:u32", EEXIST},
		{"p:{/e2 }:0x1009 b=%bx", EEXIST},
		{"p:{/n1 }:4112", 0},
		{"p:{/ }:0x1011", 0},
		{"p:{.e5 }:010", 0},
		{"p:{/e6 }:0x1012%return", 0},
		{"r5:{/e7 }:x", EINVAL},
		{"p:{/e8 }:0x1014(0x2000)", 0},
		{"p:{/e9 }:0x1014(0x2002)", EINVAL},
		{"p:{/e9 }:0x1016(8192)%return", EINVAL},
		{"p:{/e9a }:0x1016%return(8194)", 0},
		{"p:{/e9 }:0x1016(8192", EINVAL},
		{"p:{/e9 }:0x1016(8192)x", EINVAL},
		{"p:{/e9 }:0x1016()", EINVAL},
		{"p:{/e9 }:0x1016%foo", EINVAL},
		{"p:{/e9 }:zz", EINVAL},
		{"p:{/e9 }:0xzz", EINVAL},
		{"p:{/e9 }", EINVAL},
		{"p:{/e9 prog:0x10", EINVAL},
		{"p:{/e9b /nonexistent:0x10", ENOENT},
		{"p:{/e9b /dev/null:0x10", EINVAL},
		{"p:{/e9b /:0x10", EINVAL},
		{"p:{/e9c }:0x100000000", 0},
		{"p: }:0x1020", EINVAL},
		{"p:/x }:0x1020", EINVAL},
		{"p:1{/x }:0x1020", EINVAL},
		{"p:{-g/x }:0x1020", 0},
		{"p:{/x-y }:0x1020", EINVAL},
		{"p:{/1x }:0x1020", EINVAL},
		{"p:{/" A63 " }:0x1020", 0},
		{"p:{/" A63 "a }:0x1020", EINVAL},
		{"p:" A63 "a/z }:0x1020", EINVAL},
		{"q:{/x }:0x1020", EINVAL},
		{"k", EINVAL},
		{"p:{/x", EINVAL},
		{"# comment", 0},
		{"\n\n", 0},
		{"  p:{/sp   }:0x1030   x=%di   # c", 0},
		{"p:{/a1 }:0x1040\np:{/a2 }:0x1041\n", 0},
		{"p:{/a3 }:0x1042\nbad\np:{/a4 }:0x1043\n", EINVAL}, /* the first is there, the last is not */
		{"-:{/a4", ENOENT},
		{"-:{/a2", 0},
		{"-:{/a2", ENOENT},
		{"-:pcl_no_such", ENOENT},
		{"-:", EINVAL},
		{"-", EINVAL},
		{"-x", EINVAL},
		{"-:{/e }:0x0000000000001004 a=%ax", ENOENT},
		{"-:{/e }:0x0000000000001004", 0},
		{"-:{-g/ ", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = define_line(rows[i].line);

		if (err != -rows[i].err)
			printf("%s\n", rows[i].line);
		expect(err, -rows[i].err);
	}
}

static const char *const shown[] = {
	"p:{/e }:0x0000000000001000",
	"p:{/e2 }:0x0000000000001004 a=%ax",
	"p:{/e2 }:0x0000000000001008 a=%bx",
	"p:{/n1 }:0x0000000000001010",
	"p:{/p_uprobe_0x1011 }:0x0000000000001011",
	"p:{/e5 }:0x0000000000000008",
	"r:{/e6 }:0x0000000000001012",
	"p:{/e8 }:0x0000000000001014(0x2000)",
	"r:{/e9a }:0x0000000000001016(0x2002)",
	"p:{/e9c }:0x0000000100000000",
	"p:{/" A63 " }:0x0000000000001020",
	"p:{/sp }:0x0000000000001030 x=%di",
	"p:{/a1 }:0x0000000000001040",
	"p:{/a3 }:0x0000000000001042",
};

/* The text with the group's name and the path back to what they were in the table. */
static void put_back(char *line)
{
	const char *const names[] = {uprobe_group, path};

	for (int i = 0; i < 2; i++) {
		size_t len = strlen(names[i]);

		for (char *at; (at = strstr(line, names[i]));) {
			*at = "{}"[i];
			memmove(at + 1, at + len, strlen(at + len) + 1);
		}
	}
	line[strcspn(line, "\n")] = 0;
}

static void list(void)
{
	FILE *f = fopen("/sys/kernel/tracing/uprobe_events", "r");
	char line[8192];
	size_t n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, uprobe_group))
			continue;
		put_back(line);
		if (n < sizeof(shown) / sizeof(shown[0]) && strcmp(line, shown[n])) {
			printf("%s\n%s\n", line, shown[n]);
			failures++;
		}
		n++;
	}
	expect(n, sizeof(shown) / sizeof(shown[0]));
	if (f)
		fclose(f);
}

static void arguments(void)
{
	static const struct {
		const char *arg;
		int entry, ret; /* it is one of a function's beginning, and of its return */
	} rows[] = {
		{"%ax", 1, 1},
		{"%rax", 0, 0},
		{"%eax", 0, 0},
		{"%di", 1, 1},
		{"%ip", 1, 1},
		{"%sp", 1, 1},
		{"%flags", 1, 1},
		{"%cs", 1, 1},
		{"%ss", 1, 1},
		{"%orig_ax", 1, 1},
		{"%r8", 1, 1},
		{"%r15", 1, 1},
		{"%es", 0, 0},
		{"%foo", 0, 0},
		{"$stack", 1, 1},
		{"$stack0", 1, 1},
		{"$stack5", 1, 1},
		{"$stackx", 0, 0},
		{"$stack-1", 0, 0},
		{"$retval", 0, 1},
		{"$retvalx", 0, 1},
		{"$comm", 1, 1},
		{"$COMM", 1, 1},
		{"$comm:string", 1, 1},
		{"$comm:u8", 0, 0},
		{"$comm:string[2]", 0, 0},
		{"$arg1", 0, 0},
		{"$foo", 0, 0},
		{"@0x1000", 1, 1},
		{"@+0x10", 1, 1},
		{"@+", 0, 0},
		{"@sym", 0, 0},
		{"@-1", 0, 0},
		{"@", 0, 0},
		{"+0(%di)", 1, 1},
		{"+8(+0(%di))", 1, 1},
		{"-8(%sp)", 1, 1},
		{"+u8(%di)", 1, 1},
		{"+0(%di", 0, 0},
		{"+0%di", 0, 0},
		{"+x(%di)", 0, 0},
		{"+0()", 0, 0},
		{"+-8(%di)", 1, 1},
		{"++8(%di)", 1, 1},
		{"-+8(%di)", 0, 0},
		{"--8(%di)", 0, 0},
		{"-9223372036854775808(%di)", 1, 1},
		{"@+-1", 1, 1},
		{"@++1", 1, 1},
		{"\\+5", 1, 1},
		{"\\+-5", 1, 1},
		{"\\-+5", 0, 0},
		{"+u0(%di):u8[4]", 0, 0},
		{"+0(+u0(%di)):u8[4]", 1, 1},
		{"+u0(%di):string[2]", 1, 1},
		{"\\1", 1, 1},
		{"\\0x10", 1, 1},
		{"\\-5", 1, 1},
		{"\\x", 0, 0},
		{"%di:u8", 1, 1},
		{"%di:u16", 1, 1},
		{"%di:s32", 1, 1},
		{"%di:x64", 1, 1},
		{"%di:x8", 1, 1},
		{"%di:char", 1, 1},
		{"%di:symbol", 0, 0},
		{"%di:symstr", 0, 0},
		{"%di:string", 0, 0},
		{"\\1:string[2]", 1, 1},
		{"+0(%di):string", 1, 1},
		{"+0(%di):ustring", 1, 1},
		{"%di:foo", 0, 0},
		{"%di:", 0, 0},
		{":u8", 0, 0},
		{"+0(%di):u8[4]", 1, 1},
		{"+0(%di):u8[64]", 1, 1},
		{"+0(%di):u8[65]", 0, 0},
		{"+0(%di):u8[0]", 0, 0},
		{"+0(%di):u8[x]", 0, 0},
		{"+0(%di):u8[4", 0, 0},
		{"+0(%di):u8[4]x", 0, 0},
		{"%di:u8[4]", 0, 0},
		{"+0(%di):string[3]", 1, 1},
		{"+0(%di):x16[2]", 1, 1},
		{"%di:b4@2/32", 1, 1},
		{"%di:b4@30/32", 0, 0},
		{"%di:b4@2/8", 1, 1},
		{"%di:b0@2/32", 0, 0},
		{"%di:b4/32", 0, 0},
		{"%di:b4@2", 0, 0},
		{"%di:b4@2/33", 0, 0},
		{"+0(%di):b4@2/32", 1, 1},
		{"name=%di", 1, 1},
		{"na-me=%di", 0, 0},
		{"=%di", 0, 0},
		{"x=", 0, 0},
		{"common_pid=%di", 0, 0},
		{"__probe_ip=%di", 0, 0},
		{"__probe_func=%di", 0, 0},
		{"comm=$comm", 1, 1},
		{"$stack1:u8", 1, 1},
		{"\\5:u8", 1, 1},
		{"+0(\\5):u8", 1, 1},
		{"+0(@0x10):u8", 1, 1},
		{"+0($comm)", 0, 0},
		{"@0x1000:string", 1, 1},
		{"$stack0:string", 0, 0},
		{"$stack:u16", 1, 1},
		{"%AX", 0, 0},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=%di", 1, 1},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=%di", 0, 0},
		{"+0(+0(+0(+0(+0(+0(+0(+0(%di))))))))", 1, 1},
		{"+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(%di)))))))))))", 1, 1},
		{"+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(%di)))))))))))))", 1, 1},
	};
	static const char *const too_large[] = {
		"\\18446744073709551616",    "\\-9223372036854775809",	"@18446744073709551616",
		"@+9223372036854775808",     "@+-9223372036854775809",	"+9223372036854775808(%di)",
		"-9223372036854775809(%di)", "+99999999999999999999x(", "-u18446744073709551616(%di)",
		"@18446744073709551616:b4@2/8", "\\18446744073709551616:b9@2/8", "\\18446744073709551616:u8[2]",
	};
	static const char *const bad_type_first[] = {
		"\\18446744073709551616:u7", "+9223372036854775808(%di):b4@2/33", "@18446744073709551616:u8[65]",
		"@18446744073709551616:",
	};
	char line[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int was = failures;

		snprintf(line, sizeof(line), "p:{/t%zu }:0x1100 %s", i, rows[i].arg);
		expect(define_line(line), rows[i].entry ? 0 : -EINVAL);
		snprintf(line, sizeof(line), "r:{/r%zu }:0x1100 %s", i, rows[i].arg);
		expect(define_line(line), rows[i].ret ? 0 : -EINVAL);
		if (failures != was)
			printf("%s\n", rows[i].arg);
	}
	for (size_t i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++) {
		snprintf(line, sizeof(line), "p:{/l%zu }:0x1100 %s", i, too_large[i]);
		expect(define_line(line), -ERANGE);
	}
	for (size_t i = 0; i < sizeof(bad_type_first) / sizeof(bad_type_first[0]); i++) {
		snprintf(line, sizeof(line), "p:{/b%zu }:0x1100 %s", i, bad_type_first[i]);
		expect(define_line(line), -EINVAL);
	}
	snprintf(line, sizeof(line), "p:{/long }:0x1100 \\%063d", 1);
	expect(define_line(line), -E2BIG);
	snprintf(line, sizeof(line), "p:{/long }:0x1100 \\%062d", 1);
	expect(define_line(line), 0);
	expect(define_line("p:{/two }:0x1100 a=%di a=%si"), -EINVAL);
	expect(define_line("p:{/two }:0x1100 %di arg1=%si"), -EINVAL);
	expect(define_line("p:{/two }:0x1100 a=%di %si arg3=%dx"), 0);
}

static void many_arguments(void)
{
	char line[2048] = "p:{/many }:0x1100";

	for (int i = 0; i < 128; i++)
		strcat(line, " %di");
	expect(define_line(line), 0);
	strcat(line, " %di");
	expect(define_line(line), -E2BIG);
}

static void expect_file(const char *name, const char *want)
{
	char file[256], text[8192];
	FILE *f;
	size_t n;

	snprintf(file, sizeof(file), "/sys/kernel/tracing/events/%s/%s", uprobe_group, name);
	f = fopen(file, "r");
	expect(!!f, 1);
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	if (strstr(want, "\nformat:")) /* the line of the id differs */
		memmove(strstr(text, "ID:"), strstr(text, "format:"), strlen(strstr(text, "format:")) + 1);
	if (strcmp(text, want)) {
		printf("%s is\n%s\nexpected\n%s\n", name, text, want);
		failures++;
	}
}

#define COMMON                                                                                                         \
	"format:\n"                                                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                 \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void formats(void)
{
	expect(define_line("p:{/q }:0x1100 u=%di:u16 s=%di:s64 x=%di:x8 c=%di:char st=+0(%di):string "
			   "us=+0(%di):ustring ar=+0(%di):s16[3] sa=+0(%di):string[2] b=%di:b4@2/32 co=$comm imm=\\5 "
			   "xa=+0(%di):x8[2]"),
	       0);
	expect_file(
		"q/format",
		"name: q\n" COMMON "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:u16 u;\toffset:16;\tsize:2;\tsigned:0;\n"
		"\tfield:s64 s;\toffset:18;\tsize:8;\tsigned:1;\n"
		"\tfield:u8 x;\toffset:26;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 c;\toffset:27;\tsize:1;\tsigned:0;\n"
		"\tfield:__data_loc char[] st;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] us;\toffset:32;\tsize:4;\tsigned:1;\n"
		"\tfield:s16 ar[];\toffset:36;\tsize:6;\tsigned:1;\n"
		"\tfield:__data_loc char[][2] sa;\toffset:42;\tsize:8;\tsigned:1;\n"
		"\tfield:u32 b;\toffset:50;\tsize:4;\tsigned:0;\n"
		"\tfield:__data_loc char[] co;\toffset:54;\tsize:4;\tsigned:1;\n"
		"\tfield:u64 imm;\toffset:58;\tsize:8;\tsigned:0;\n"
		"\tfield:u8 xa[];\toffset:66;\tsize:2;\tsigned:0;\n"
		"\nprint fmt: \"(%lx) u=%u s=%Ld x=0x%x c='%c' st=\\\"%s\\\" us=\\\"%s\\\" ar={%d,%d,%d} "
		"sa={\\\"%s\\\",\\\"%s\\\"} b=%u co=\\\"%s\\\" imm=0x%Lx xa={0x%x,0x%x}\", REC->__probe_ip, REC->u, "
		"REC->s, REC->x, REC->c, __get_str(st), __get_str(us), REC->ar[0], REC->ar[1], REC->ar[2], "
		"__get_str(sa[0]), __get_str(sa[1]), REC->b, __get_str(co), REC->imm, REC->xa[0], REC->xa[1]\n");
	expect(define_line("r:{/q2 }:0x1100 $retval"), 0);
	expect_file("q2/format",
		    "name: q2\n" COMMON "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
		    "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
		    "\tfield:u64 arg1;\toffset:24;\tsize:8;\tsigned:0;\n"
		    "\nprint fmt: \"(%lx <- %lx) arg1=0x%Lx\", REC->__probe_func, REC->__probe_ret_ip, REC->arg1\n");
	expect_file("q2/enable", "0\n");
	expect_file("q2/filter", "none\n");
}

int main(void)
{
	struct place p = place_of(main);
	const char *link = "/proc/self/exe";

	uprobe_define_or_skip(&p);
	snprintf(path, sizeof(path), "/tmp/uprobe.%d", getpid());
	expect(symlink(link, path), 0);
	lines();
	list();
	expect(define_line("-:{/"), 0);
	arguments();
	many_arguments();
	formats();
	expect(define_line("-:{/"), 0);
	expect(define_line("-:{/"), -ENOENT);
	unlink(path);
	return perf_result();
}
