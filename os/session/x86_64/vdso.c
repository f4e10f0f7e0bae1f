/* See os/session/vdso.h. */
#include "os/session/vdso.h"
#include "rt/string.h"

void vdso_entry_write(u8 *at)
{
	static const u8 code[] = {0x0f, 0xa2, 0xc3}; /* cpuid; ret */

	_Static_assert(sizeof(code) <= VDSO_ENTRY, "it has its place");
	memcpy(at, code, sizeof(code));
}

u64 vdso_entry_arg(const struct cpu *cpu, u32 i)
{
	return cpu_get_gpr(cpu, i ? RSI : RDI);
}

void vdso_entry_done(struct cpu *cpu)
{
	cpu_set_gpr(cpu, RAX, 0);
}
