/* See vdso.h. */
#include "os/session/vdso.h"

#include <elf.h>
#include <linux/time.h>
#include <sys/mman.h>
#include "isa/insn.h"
#include "os/session/arena.h"
#include "os/session/process.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define ENTRY_AT(i) (EI_PAD + VDSO_ENTRY * (i)) /* in the ELF header */

enum { GETTIME, TIMEOFDAY, FUNCTIONS };
_Static_assert(ENTRY_AT(FUNCTIONS) <= EI_NIDENT, "the entries are in bytes that mean nothing");

typedef int vdso_function(u64 first, u64 second);

static const char *const names[FUNCTIONS] = {"__vdso_clock_gettime", "__vdso_gettimeofday"};
static u64 at[FUNCTIONS]; /* of each function, from the vDSO's beginning; 0: it has none */
static struct insn entry; /* the first instruction of each entry */

/* The vDSO's own description of itself. */
struct image {
	u64 bias;
	const char *strings;
	Elf64_Sym *symbols;
};

static bool read_image(u64 base, struct image *out)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + eh->e_phoff);
	u64 dynamic = 0;

	*out = (struct image){.bias = base};
	for (u32 i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD)
			out->bias = base + ph[i].p_offset - ph[i].p_vaddr;
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = base + ph[i].p_offset;
	}
	for (const Elf64_Dyn *d = (const Elf64_Dyn *)dynamic; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			out->strings = (const char *)out->bias + d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			out->symbols = (Elf64_Sym *)(out->bias + d->d_un.d_ptr);
	}
	return out->strings && out->symbols;
}

/* The strings follow the symbols. */
static bool is_symbol(const struct image *image, const Elf64_Sym *s)
{
	return (const char *)(s + 1) <= image->strings;
}

static void find(u64 base)
{
	struct image image;

	memset(at, 0, sizeof(at));
	if (!read_image(base, &image))
		return;
	for (const Elf64_Sym *s = image.symbols; is_symbol(&image, s); s++)
		for (u32 i = 0; i < FUNCTIONS; i++)
			if (!strcmp(image.strings + s->st_name, names[i]))
				at[i] = image.bias + s->st_value - base;
}

/* All names of a function: each has a weak one besides. */
static void write_entries(u64 base, const struct image *image)
{
	for (u32 i = 0; i < FUNCTIONS; i++)
		vdso_entry_write((u8 *)base + ENTRY_AT(i));
	isa_decode((u8 *)base + ENTRY_AT(0), VDSO_ENTRY, &entry);
	for (Elf64_Sym *s = image->symbols; is_symbol(image, s); s++)
		for (u32 i = 0; i < FUNCTIONS; i++)
			if (at[i] && image->bias + s->st_value == base + at[i])
				s->st_value = base + ENTRY_AT(i) - image->bias;
}

/*
 * The protection of all of it changes, so that it stays one mapping, which can be moved. It stays executable all the
 * time: where memory may not become that, it would not be again.
 */
static void redirect(u64 base, u64 end)
{
	struct image image;

	if (!arena()->clock.in_vdso || !at[GETTIME] || !at[TIMEOFDAY] || !read_image(base, &image) ||
	    sys3(__NR_mprotect, base, end - base, PROT_READ | PROT_WRITE | PROT_EXEC))
		return;
	write_entries(base, &image);
	sys3(__NR_mprotect, base, end - base, PROT_READ | PROT_EXEC);
}

u64 vdso_end(u64 base)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + eh->e_phoff);
	u64 end = 0;

	for (u32 i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			end = MAX(end, ALIGN_UP(base + ph[i].p_vaddr + ph[i].p_memsz, PAGE_SIZE));
	return end;
}

void vdso_prepare(u64 base, u64 end)
{
	find(base);
	if (!held_still(PIN_CLOCK)) /* it is not the guest's then */
		redirect(base, end);
}

/* It is where it was when the program began: the runtime may call its functions. */
static bool is_in_place(void)
{
	static u32 seen;

	return the_process.vdso && clock_vdso_is_at(the_process.vdso, &seen);
}

static vdso_function *function(u32 i)
{
	bool there = held_still(PIN_CLOCK) ? the_process.vdso : is_in_place();

	return there && at[i] ? (vdso_function *)(the_process.vdso + at[i]) : NULL;
}

/* It is at base, where the guest may have moved it. */
static bool is_at(u64 base)
{
	u32 not_seen = 0;

	return base == the_process.vdso ? is_in_place() : clock_vdso_is_at(base, &not_seen);
}

int vdso_clock_gettime(s32 clock, u64 ts[2])
{
	vdso_function *f = function(GETTIME);

	return f ? f((u64)clock, (u64)ts) : -1;
}

/* The clocks that the kernel's function computes. The coarse ones it only copies. */
static bool is_fine(s32 clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
	       clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
}

/* What the kernel's function would do, at the same addresses. */
static bool call(const struct cpu *cpu, vdso_function *f, u32 i)
{
	u64 first = vdso_entry_arg(cpu, 0), second = vdso_entry_arg(cpu, 1), result[2];

	if (i == GETTIME)
		return is_fine((s32)first) && !f(first, (u64)result) && !guest_write(second, result, sizeof(result));
	return first && !second && !f((u64)result, 0) && !guest_write(first, result, sizeof(result));
}

enum vdso_served vdso_serve(struct thread *t)
{
	struct cpu *cpu = t->cpu;
	u64 offset = cpu->rip % PAGE_SIZE, base = cpu->rip - offset;
	u32 i = offset == ENTRY_AT(GETTIME) ? GETTIME : TIMEOFDAY;
	struct snapshot_regs before;

	if (likely(offset != ENTRY_AT(i)) || !is_at(base) || !at[i])
		return VDSO_NOT;
	/* Of one that the guest has moved the runtime can execute nothing. */
	if (base != the_process.vdso || (cpu->variant & (CPU_WANT_WATCH | CPU_WANT_TOUCH)) ||
	    !call(cpu, (vdso_function *)(base + at[i]), i)) {
		cpu->rip = base + at[i];
		return VDSO_GOES_ON;
	}
	perf_regs(cpu, &before);
	vdso_entry_done(cpu);
	perf_emulated_insn(t, &before, &entry);
	return VDSO_DONE;
}
