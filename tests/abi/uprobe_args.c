/* Named probes: what their records hold, filters, and that what is in use stays. */
#include "tests/abi/uprobe.h"

struct thing {
	unsigned char bytes[4];
	int pad;
	int negative, other;
	unsigned short *indirect;
	const char *string[2];
};

static unsigned short indirect = 0xbeef;
static struct thing thing = {{1, 2, 3, 250}, 0, -77, 5, &indirect, {"first", "the second"}};

/* Registers are as the probe is to see them. */
long target(long a, long b, const char *string, struct thing *t);
__asm__(".type target, @function\n.globl target\ntarget: nop\n\tlea 1000(%rdi), %rax\n\tret\n");

static FILE *open_event_file(const char *event, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/%s/%s", uprobe_group, event, file);
	return fopen(path, "r");
}

static long event_id(const char *event)
{
	FILE *f = open_event_file(event, "id");
	long id = -1;

	if (f && fscanf(f, "%ld", &id) != 1)
		id = -1;
	if (f)
		fclose(f);
	return id;
}

/* Where a field of the event's records is, by its format file; -1: it has none of that name. */
static int offset_of(const char *event, const char *name)
{
	FILE *f = open_event_file(event, "format");
	char line[256], end[64];
	int offset = -1;

	snprintf(end, sizeof(end), " %s", name);
	while (f && offset < 0 && fgets(line, sizeof(line), f)) {
		char *semicolon = strchr(line, ';'), *number = strstr(line, "offset:");

		if (!semicolon || !number)
			continue;
		*semicolon = 0;
		if (strlen(line) > 2 && !strcmp(semicolon - 2, "[]"))
			semicolon[-2] = 0;
		if (strlen(line) > strlen(end) && !strcmp(line + strlen(line) - strlen(end), end))
			offset = (int)strtol(number + 7, NULL, 10);
	}
	if (f)
		fclose(f);
	return offset;
}

static struct perf_attr event_attr(const char *event)
{
	return (struct perf_attr){
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(struct perf_attr), .config = (u64)event_id(event)};
}

static long number(const struct uprobe_sample *s, const char *event, const char *name, int size)
{
	int offset = offset_of(event, name);
	long value = 0;

	expect(offset >= 8, 1);
	if (offset >= 8)
		memcpy(&value, s->data + offset, (size_t)size);
	return value;
}

/* The index-th of an array, or the only one. */
static const char *text(const struct uprobe_sample *s, const char *event, const char *name, int index)
{
	int offset = offset_of(event, name);
	unsigned short where[2] = {0, 0};

	expect(offset >= 8, 1);
	memcpy(where, s->data + offset + 4 * index, 4);
	expect(where[0] + where[1] <= s->size, 1);
	return where[1] ? (const char *)s->data + where[0] : "(none)";
}

#define ARGS                                                                                                           \
	" a=%%di b=%%si:u8 c=%%si:s16 s=+0(%%dx):string n=+8(%%cx):s32 i=+0(+16(%%cx)):u16 ar=+0(%%cx):u8[4]"          \
	" sa=+24(%%cx):string[2] st=$stack0 sp=$stack co=$comm im=\\-3:s64 bf=%%si:b4@4/32 no=+0(%%ax):string"         \
	" f=@+0:x32 us=+u0(%%dx):ustring ip=%%ip x=+1(%%dx):char na=\\%lu:string"

static void values(void)
{
	struct place p = place_of((const void *)target);
	struct uprobe_ring r;
	struct uprobe_sample s;
	long result, sp = 0;

	expect(uprobe_define("p:%s/f %s:0x%lx" ARGS "\n", uprobe_group, p.path, p.offset, (u64)"at a number"), 0);
	r = uprobe_ring(event_attr("f"));
	__asm__ volatile("xor %%eax, %%eax\n\tlea -136(%%rsp), %1\n\tlea -128(%%rsp), %%rsp\n\tcall target\n\tlea "
			 "128(%%rsp), %%rsp"
			 : "=&a"(result), "=&b"(sp)
			 : "D"(5l), "S"(0x12385l), "d"("hello"), "c"(&thing)
			 : "memory", "cc");
	expect(result, 1005);
	expect(uprobe_next(&r, &s), 1);
	expect(s.ip, target);
	expect(s.type, event_id("f"));
	expect(s.vaddr[0], target);
	expect((s.size + 4) % 8, 0);
	expect(number(&s, "f", "a", 8), 5);
	expect(number(&s, "f", "b", 1), 0x85);
	expect(number(&s, "f", "c", 2), 0x2385);
	expect(strcmp(text(&s, "f", "s", 0), "hello"), 0);
	expect(number(&s, "f", "n", 4), (unsigned)-77);
	expect(number(&s, "f", "i", 2), 0xbeef);
	expect(number(&s, "f", "ar", 4), 0xfa030201);
	expect(strcmp(text(&s, "f", "sa", 0), "first"), 0);
	expect(strcmp(text(&s, "f", "sa", 1), "the second"), 0);
	expect(number(&s, "f", "sp", 8), sp);
	expect(strcmp(text(&s, "f", "co", 0), "uprobe_args"), 0);
	expect(number(&s, "f", "im", 8), -3);
	expect(number(&s, "f", "bf", 4), 8);
	expect(strcmp(text(&s, "f", "no", 0), "(none)"), 0);
	expect(number(&s, "f", "f", 4), 0x464c457f);
	expect(strcmp(text(&s, "f", "us", 0), "hello"), 0);
	expect(number(&s, "f", "ip", 8), target);
	expect(number(&s, "f", "x", 1), 'e');
	expect(strcmp(text(&s, "f", "na", 0), "at a number"), 0);
	expect(uprobe_next(&r, &s), 0);
	/* What is in use stays. */
	expect(uprobe_define("-:%s/f", uprobe_group), -EBUSY);
	uprobe_ring_close(&r);
	expect(uprobe_define("-:%s/f", uprobe_group), 0);
	expect(event_id("f"), -1);
}

static void results(void)
{
	struct place p = place_of((const void *)target);
	struct uprobe_ring r;
	struct uprobe_sample s;

	expect(uprobe_define("r:%s/ret %s:0x%lx v=$retval l=$retval:s32\n", uprobe_group, p.path, p.offset), 0);
	r = uprobe_ring(event_attr("ret"));
	for (long i = -1001; i < -998; i++) {
		target(i, 0, "", &thing);
		expect(uprobe_next(&r, &s), 1);
		expect(s.vaddr[0], target);
		expect(s.ip, s.vaddr[1]);
		expect(number(&s, "ret", "v", 8), i + 1000);
		expect((int)number(&s, "ret", "l", 4), i + 1000);
	}
	uprobe_ring_close(&r);
	expect(uprobe_define("-:%s/ret", uprobe_group), 0);
}

static long filtered(const char *filter)
{
	struct perf_attr a = event_attr("g");
	long fd = perf_open(&a, 0, -1, -1, 0), err = perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)filter);

	for (long i = 0; i < 10; i++)
		target(i, -i, i % 2 ? "odd" : "even", &thing);
	return err ? (uprobe_count(fd), err) : uprobe_count(fd);
}

/*
 * The event has another place, so it stays, and what is open of it is hit there alone. Not asked of Linux, which was
 * not made for that.
 */
static void one_place_deleted(const struct place *p)
{
	struct perf_attr a = event_attr("g");
	long fd;

	if (!under_pcl())
		return;
	fd = perf_open(&a, 0, -1, -1, 0);
	target(0, 0, "", &thing);
	expect(perf_value(fd), 2);
	expect(uprobe_define("-:%s/g %s:0x%016lx", uprobe_group, p->path, p->offset), 0);
	target(0, 0, "", &thing);
	expect(uprobe_count(fd), 3);
}

/* Two places of one event, and filters. */
static void filters(void)
{
	struct place p = place_of((const void *)target);

	expect(uprobe_define("p:%s/g %s:0x%lx a=%%di b=%%si:s8 s=+0(%%dx):string", uprobe_group, p.path, p.offset), 0);
	expect(filtered("a >= 3"), 7);
	expect(filtered("b < -7"), 2);
	expect(filtered("s == \"odd\""), 5);
	expect(filtered("s ~ \"*e*\" && a != 4"), 4);
	expect(filtered("__probe_ip == 0"), 0);
	expect(filtered("common_pid > 0"), 10);
	expect(filtered("nosuch == 1"), -EINVAL);
	expect(filtered("a == \"x\""), -EINVAL);
	expect(filtered("s == 1"), -EINVAL);
	/* the last instruction */
	expect(uprobe_define("p:%s/g %s:0x%lx a=%%di b=%%si:s8 s=+0(%%dx):string", uprobe_group, p.path, p.offset + 8),
	       0);
	expect(filtered("a >= 3"), 14);
	one_place_deleted(&p);
	expect(uprobe_define("-:%s/g", uprobe_group), 0);
	expect(event_id("g"), -1);
}

int main(void)
{
	struct place p = place_of((const void *)target);

	uprobe_define_or_skip(&p);
	values();
	results();
	filters();
	return perf_result();
}
