/*
 * What cpuid says is the same in the program that a program executes, on each CPU: also where pcl need not ask the
 * processor again. Subleaves that a leaf does not have make no difference, and those that it has are kept apart.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT 80 /* of one CPU */

/* A leaf, and how many subleaves are asked for; 0: it has none. The last ones say where the program is. */
static const struct { unsigned leaf, subleaves; } leaves[] = {
	{0, 0}, {2, 0}, {4, 5}, {5, 0}, {6, 0}, {7, 3}, {0xd, 20}, {0x14, 2}, {0x15, 0}, {0x19, 0}, {0x80000000, 0},
	{0x80000001, 0}, {0x80000002, 0}, {0x80000003, 0}, {0x80000004, 0}, {0x80000005, 0}, {0x80000006, 0},
	{0x80000007, 0}, {0x80000008, 0}, {0x8000001d, 5}, {1, 0}, {0xb, 2}, {0x8000001e, 0},
};

static uint64_t add(uint64_t sum, unsigned leaf, unsigned sub)
{
	unsigned a = leaf, b, c = sub, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	sum = (sum ^ a ^ (uint64_t)b << 32) * 0x9fb21c651e98df25ul;
	return (sum ^ c ^ (uint64_t)d << 32) * 0x9fb21c651e98df25ul;
}

/* Of one that it does not have, Intel's processors say what they say of the last one, which may have subleaves. */
static int processor_has(unsigned leaf)
{
	unsigned a = leaf & 0x80000000, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return leaf <= a;
}

/* Of all leaves; garbage: what is in the register where a subleaf would be. */
static uint64_t all(unsigned garbage)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++)
		for (unsigned sub = 0; !sub || sub < leaves[i].subleaves; sub++)
			sum = add(sum, leaves[i].leaf,
				  leaves[i].subleaves || !processor_has(leaves[i].leaf) ? sub : garbage);
	return sum;
}

/* What /proc/cpuinfo says of it, -1: nothing. */
static long apic_id_of(int cpu)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[8192];
	long id = -1, n;
	int at = -1;

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "processor : %d", &at);
		if (at == cpu && sscanf(line, "initial apicid : %ld", &n) == 1)
			id = n;
	}
	if (f)
		fclose(f);
	return id;
}

static unsigned apic_id(void)
{
	unsigned a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 24;
}

/* As text, one number for each CPU that the program may run on, three times over. */
static void ask(char *text, size_t size, const cpu_set_t *may)
{
	size_t at = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE && at + TEXT < size; cpu++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!CPU_ISSET(cpu, may) || sched_setaffinity(0, sizeof(one), &one))
			continue;
		if (apic_id_of(cpu) >= 0 && apic_id() != (apic_id_of(cpu) & 0xff))
			at += (size_t)sprintf(text + at, "differs from cpuinfo ");
		at += (size_t)sprintf(text + at, "%d:%lx ", cpu, all(0));
		for (unsigned i = 1; i < 3; i++)
			if (all(i * 0x1234567) != all(0))
				at += (size_t)sprintf(text + at, "differs ");
	}
}

int main(int argc, char **argv)
{
	char now[8192] = "", kind[2] = {argc > 2 ? argv[2][0] + 1 : 'a'};
	cpu_set_t may;

	if (sched_getaffinity(0, sizeof(may), &may))
		return 77;
	ask(now, sizeof(now), &may);
	if (argc > 1 && strcmp(now, argv[1])) {
		printf("before: %s\nafter %s: %s\n", argv[1], argv[2], now);
		return 1;
	}
	if (kind[0] == 'd')
		return !now[0] || !!strstr(now, "differs");
	sched_setaffinity(0, sizeof(may), &may);
	execl("/proc/self/exe", argv[0], now, kind, (char *)NULL);
	return 1;
}
