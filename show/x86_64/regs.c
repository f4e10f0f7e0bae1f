/* A guest thread's integer registers as text; see regs.h. */
#include "rt/fmt.h"
#include "show/names.h"
#include "show/regs.h"

static const char *const names[16] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static const struct show_flag flag_names[] = {
	{1, "CF"}, {1 << 2, "PF"}, {1 << 4, "AF"}, {1 << 6, "ZF"}, {1 << 7, "SF"}, {1 << 8, "TF"}, {1 << 10, "DF"},
	{1 << 11, "OF"}, {1 << 18, "AC"}, {0, NULL},
};

/* Bits that are always set in user mode and say nothing: bit 1 and IF. */
#define FLAGS_ALWAYS 0x202ul

size_t show_regs(char *buf, size_t size, const struct show_regs *regs)
{
	size_t at = 0;

	for (unsigned i = 0; i < 16; i++)
		at = rt_append(buf, size, at, "%s%-3s %016lx%s", i % 4 ? "  " : "", names[i], regs->gpr[i],
			       i % 4 == 3 ? "\n" : "");
	at = rt_append(buf, size, at, "rip %016lx\n", regs->rip);
	at = rt_append(buf, size, at, "rflags %lx ", regs->rflags);
	at = show_flags(buf, size, at, regs->rflags & ~FLAGS_ALWAYS, flag_names, "-");
	return rt_append(buf, size, at, "\n");
}
