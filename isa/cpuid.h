/*
 * What CPUID may tell a guest: features whose instructions the decoder knows and pcl supports. The rows are in
 * isa/features.def. No state.
 */
#ifndef ISA_CPUID_H
#define ISA_CPUID_H

#include "abi/types.h"

enum { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

/* The instruction that was tried for a leaf's feature is known. */
bool isa_knows(const char *bytes, size_t len);

/*
 * Takes from the processor's answer for eax = leaf, ecx = subleaf (eax, ebx, ecx, edx in this order) what a guest is
 * not to see.
 */
void isa_mask_cpuid(u32 leaf, u32 subleaf, u32 r[4]);

/* The same for what xgetbv answers: state components, of XCR0 or in use. */
u64 isa_mask_xcr0(u64 components);

/* The same for words of the auxiliary vector. */
u64 isa_mask_hwcap(u64 word);
u64 isa_mask_hwcap2(u64 word);

#endif
