/* See level.h. Leaves as Intel's SDM, volume 2, CPUID, has them. */
#include "isa/level.h"
#include "rt/fmt.h"
#include "rt/string.h"

#define MAX_BASIC    0xdu
#define MAX_EXTENDED 0x80000008u
#define BRAND	     0x80000002u
#define BRAND_LEN    48
#define LINE	     64u

struct feature {
	u32 level, leaf, reg, bit;
	const char *name;
};

static const struct feature features[] = {
#define LEVEL(level, name, signature, components)
#define FEATURE(level, leaf, reg, bit, name) {level, leaf, reg, bit, name},
#include "isa/levels.def"
#undef LEVEL
#undef FEATURE
};

/* Westmere, Haswell and Skylake-X. */
static const struct processor {
	u32 level, signature, components;
	const char *brand;
} processors[] = {
#define LEVEL(level, name, signature, components) [ISA_LEVEL_##level] = {level, signature, components, "pcl " name},
#define FEATURE(level, leaf, reg, bit, name)
#include "isa/levels.def"
#undef LEVEL
#undef FEATURE
};

/* Leaf 4: type (data, code, both) and level of a cache, ways and sets. */
static const struct cache {
	u32 type, level, ways, sets;
} caches[] = {{1, 1, 8, 64}, {2, 1, 8, 64}, {3, 2, 8, 512}, {3, 3, 16, 8192}};

#define SELF_INITIALIZING 0x100u

static void set(u32 r[4], u32 eax, u32 ebx, u32 ecx, u32 edx)
{
	r[CPUID_EAX] = eax;
	r[CPUID_EBX] = ebx;
	r[CPUID_ECX] = ecx;
	r[CPUID_EDX] = edx;
}

static void add_features(const struct processor *p, u32 leaf, u32 r[4])
{
	for (u32 i = 0; i < ARRAY_SIZE(features); i++)
		if (features[i].leaf == leaf && features[i].level <= p->level)
			r[features[i].reg] |= 1u << features[i].bit;
}

static void cache_leaf(u32 subleaf, u32 r[4])
{
	const struct cache *c;

	if (subleaf >= ARRAY_SIZE(caches))
		return;
	c = &caches[subleaf];
	set(r, c->type | c->level << 5 | SELF_INITIALIZING, (c->ways - 1) << 22 | (LINE - 1), c->sets - 1, 0);
}

/* One thread in one core. */
static void topology_leaf(u32 subleaf, u32 r[4])
{
	set(r, 0, subleaf < 2, subleaf | (subleaf < 2 ? (subleaf + 1) << 8 : 0), 0);
}

/* Standard form only: neither XSAVEOPT nor XSAVEC. Sizes and offsets are the host's. */
static void xsave_leaf(const struct processor *p, u32 subleaf, const u32 host[4], u32 r[4])
{
	if (p->level < 3)
		return;
	if (!subleaf)
		set(r, host[CPUID_EAX] & p->components, host[CPUID_EBX], host[CPUID_ECX], 0);
	else if (subleaf >= 2 && subleaf < 32 && p->components & 1u << subleaf)
		memcpy(r, host, 4 * sizeof(*r));
}

static void brand_leaf(const struct processor *p, u32 leaf, u32 r[4])
{
	char text[BRAND_LEN] = {0};

	memcpy(text, p->brand, strlen(p->brand));
	memcpy(r, text + (leaf - BRAND) * 16, 16);
}

void isa_level_cpuid(enum isa_level level, u32 leaf, u32 subleaf, u32 r[4])
{
	const struct processor *p = &processors[level];
	u32 host[4];

	memcpy(host, r, sizeof(host));
	memset(r, 0, sizeof(host));
	if (leaf == 1)
		set(r, p->signature, LINE / 8 << 8 | 1 << 16, 0, 0);
	if (leaf != 7 || !subleaf)
		add_features(p, leaf, r);
	if (leaf == 0)
		set(r, MAX_BASIC, 0x756e6547, 0x6c65746e, 0x49656e69); /* "GenuineIntel" */
	else if (leaf == 2)
		set(r, 0x00feff01, 0xf0, 0, 0); /* caches: see leaf 4 */
	else if (leaf == 4)
		cache_leaf(subleaf, r);
	else if (leaf == 0xb)
		topology_leaf(subleaf, r);
	else if (leaf == 0xd)
		xsave_leaf(p, subleaf, host, r);
	else if (leaf == 0x80000000u)
		set(r, MAX_EXTENDED, 0, 0, 0);
	else if (leaf >= BRAND && leaf < BRAND + BRAND_LEN / 16)
		brand_leaf(p, leaf, r);
	else if (leaf == 0x80000006u)
		set(r, 0, 0, 256 << 16 | 6 << 12 | LINE, 0); /* L2: KiB, 8 ways */
	else if (leaf == 0x80000007u)
		set(r, 0, 0, 0, 0x100); /* the TSC's rate does not change */
	else if (leaf == 0x80000008u)
		set(r, 48 << 8 | 39, 0, 0, 0); /* bits of addresses */
}

u64 isa_level_xcr0(enum isa_level level, u64 components)
{
	return components & processors[level].components;
}

u64 isa_level_hwcap(enum isa_level level)
{
	u32 r[4] = {0};

	isa_level_cpuid(level, 1, 0, r);
	return r[CPUID_EDX];
}

static size_t append_flags(const struct processor *p, char *buf, size_t size, size_t at)
{
	for (u32 i = 0; i < ARRAY_SIZE(features); i++)
		if (features[i].level <= p->level && features[i].name[0])
			at = rt_append(buf, size, at, " %s", features[i].name);
	return at;
}

size_t isa_level_cpuinfo(enum isa_level level, u32 cpu, char *buf, size_t size, size_t at)
{
	const struct processor *p = &processors[level];
	u32 s = p->signature;

	at = rt_append(buf, size, at,
		       "processor\t: %u\nvendor_id\t: GenuineIntel\ncpu family\t: %u\nmodel\t\t: %u\nmodel name\t: %s\n"
		       "stepping\t: %u\ncpu MHz\t\t: 1000.000\ncache size\t: 8192 KB\nphysical id\t: 0\nsiblings\t: 1\n"
		       "core id\t\t: %u\ncpu cores\t: 1\napicid\t\t: %u\ninitial apicid\t: %u\nfpu\t\t: yes\n"
		       "fpu_exception\t: yes\ncpuid level\t: %u\nwp\t\t: yes\nflags\t\t:",
		       cpu, s >> 8 & 15, (s >> 4 & 15) | (s >> 12 & 0xf0), p->brand, s & 15, cpu, cpu, cpu, MAX_BASIC);
	at = append_flags(p, buf, size, at);
	return rt_append(buf, size, at,
			 "\nbugs\t\t:\nbogomips\t: 2000.00\nclflush size\t: 64\ncache_alignment\t: 64\n"
			 "address sizes\t: 39 bits physical, 48 bits virtual\npower management:\n\n");
}
