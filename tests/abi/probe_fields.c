/*
 * Probes by the names that the man page has for their fields: an uprobe counts the calls of a function; a kprobe needs
 * a PMU that is not everywhere, pcl's sessions have none.
 * covers: attr.uprobe_path, attr.probe_offset, attr.kprobe_func, attr.kprobe_addr
 */
#include "tests/abi/uprobe.h"

#define CALLS 7

__attribute__((noinline, noclone)) static long called(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

static int kprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
	int type = -1;

	if (f && fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f)
		fclose(f);
	return type;
}

static long open_probe(struct perf_event_attr a)
{
	a.size = sizeof(a);
	a.exclude_kernel = 1;
	return perf_open(&a, 0, -1, -1, 0);
}

static void test_uprobe(void)
{
	struct place p = place_of((const void *)called);
	long fd = open_probe((struct perf_event_attr){
		.type = (u32)uprobe_type(), .uprobe_path = (u64)p.path, .probe_offset = p.offset});

	if (fd == -EACCES) {
		printf("no uprobes for this user\n");
		return;
	}
	expect(fd >= 0, 1);
	for (long i = 0; i < CALLS; i++)
		called(i);
	expect(perf_value(fd), CALLS);
	close((int)fd);
	p.path[0] = 0;
	expect(open_probe((struct perf_event_attr){.type = (u32)uprobe_type(), .uprobe_path = (u64)p.path}), -EINVAL);
	expect(open_probe((struct perf_event_attr){.type = (u32)uprobe_type()}), -EINVAL);
}

int main(void)
{
	int type = kprobe_type();
	/* Nowhere: neither a name nor an address. */
	long fd = open_probe((struct perf_event_attr){.type = (u32)type, .kprobe_func = 0, .kprobe_addr = 0});

	if (perf_result() == 77)
		return 77;
	expect(fd < 0, 1);
	expect(type >= 0 || fd == -ENOENT, 1);
	if (uprobe_type() >= 0)
		test_uprobe();
	return perf_result();
}
