/*
 * Processors that --cpu shows in place of the host's: one for each level of the x86-64 psABI, the same on every host.
 * Features are in isa/levels.def; maker, model and caches are those of an Intel processor of that level. No state.
 */
#ifndef ISA_LEVEL_H
#define ISA_LEVEL_H

#include "isa/cpuid.h"

/* The words of --cpu, in its order. */
enum isa_level { ISA_LEVEL_HOST, ISA_LEVEL_2, ISA_LEVEL_3, ISA_LEVEL_4 };

/*
 * What cpuid says on it. r: what the host says. Of that only the sizes of XSAVE areas stay, which the host's processor
 * decides.
 */
void isa_level_cpuid(enum isa_level level, u32 leaf, u32 subleaf, u32 r[4]);

/* XCR0, of what is enabled on the host. */
u64 isa_level_xcr0(enum isa_level level, u64 components);

/* AT_HWCAP. */
u64 isa_level_hwcap(enum isa_level level);

/* The text of /proc/cpuinfo for one such processor with that number, as rt_append(). */
size_t isa_level_cpuinfo(enum isa_level level, u32 cpu, char *buf, size_t size, size_t at);

#endif
