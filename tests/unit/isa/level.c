/*
 * The processors of --cpu: whatever the host says, they say the same, but for sizes of XSAVE areas. They have the
 * features of their level, and no other bits.
 */
#include "isa/level.h"
#include "tests/unit/unit.h"

static const u32 leaves[] = {0,          1,          2,          3,          4,          5,          6,
			     7,          8,          9,          0xa,        0xb,        0xd,        0x14,
			     0x15,       0x16,       0x24,       0x40000000, 0x80000000, 0x80000001, 0x80000002,
			     0x80000003, 0x80000004, 0x80000005, 0x80000006, 0x80000007, 0x80000008, 0x80000021};

static void ask(enum isa_level level, u32 leaf, u32 subleaf, u32 host, u32 r[4])
{
	for (u32 i = 0; i < 4; i++)
		r[i] = host;
	isa_level_cpuid(level, leaf, subleaf, r);
}

static void test_hosts(enum isa_level level)
{
	u32 one[4], other[4];

	for (u32 i = 0; i < ARRAY_SIZE(leaves); i++)
		for (u32 sub = 0; sub < 8; sub++) {
			ask(level, leaves[i], sub, 0, one);
			ask(level, leaves[i], sub, ~0u, other);
			if (leaves[i] != 0xd)
				expect(!memcmp(one, other, sizeof(one)));
		}
}

static bool has(enum isa_level level, u32 leaf, u32 reg, u32 bit)
{
	u32 r[4];

	ask(level, leaf, 0, ~0u, r);
	return r[reg] >> bit & 1;
}

static void test_features(void)
{
	expect(has(ISA_LEVEL_2, 1, CPUID_ECX, 20) && !has(ISA_LEVEL_2, 1, CPUID_ECX, 28)); /* sse4_2, avx */
	expect(has(ISA_LEVEL_3, 7, CPUID_EBX, 5) && !has(ISA_LEVEL_3, 7, CPUID_EBX, 16));  /* avx2, avx512f */
	expect(has(ISA_LEVEL_4, 7, CPUID_EBX, 31));					   /* avx512vl */
	for (enum isa_level l = ISA_LEVEL_2; l <= ISA_LEVEL_4; l++) {
		expect(!has(l, 1, CPUID_ECX, 30) && !has(l, 7, CPUID_EBX, 18)); /* rdrand, rdseed */
		expect(!has(l, 1, CPUID_ECX, 31));				/* a hypervisor */
		expect(isa_level_hwcap(l) == 0x078bfbff);
	}
}

/* What is in a XSAVE area is the level's; how large it is must be what the host's processor writes. */
static void test_xsave(void)
{
	u32 r[4];

	ask(ISA_LEVEL_3, 0xd, 0, ~0u, r);
	expect(r[CPUID_EAX] == 7 && r[CPUID_EBX] == ~0u && r[CPUID_ECX] == ~0u && !r[CPUID_EDX]);
	ask(ISA_LEVEL_3, 0xd, 1, ~0u, r);
	expect(!r[CPUID_EAX]);
	ask(ISA_LEVEL_3, 0xd, 2, 576, r);
	expect(r[CPUID_EBX] == 576);
	ask(ISA_LEVEL_3, 0xd, 5, 576, r);
	expect(!r[CPUID_EBX]);
	expect(isa_level_xcr0(ISA_LEVEL_2, ~0ul) == 3 && isa_level_xcr0(ISA_LEVEL_3, ~0ul) == 7);
	expect(isa_level_xcr0(ISA_LEVEL_4, ~0ul) == 0xe7 && isa_level_xcr0(ISA_LEVEL_4, 7) == 7);
}

static void test_cpuinfo(void)
{
	char text[2048];
	size_t n = isa_level_cpuinfo(ISA_LEVEL_4, 123, text, sizeof(text), 0);

	expect(n < sizeof(text) - 1 && strstr(text, "processor\t: 123\n") && strstr(text, " avx512vl\n"));
	expect(strstr(text, "model\t\t: 85\n") && strstr(text, "cpu family\t: 6\n") && strstr(text, "x86-64-v4"));
}

int main(void)
{
	for (enum isa_level level = ISA_LEVEL_2; level <= ISA_LEVEL_4; level++)
		test_hosts(level);
	test_features();
	test_xsave();
	test_cpuinfo();
	return unit_result();
}
