/*
 * The initial stack; see stack.h. From high to low, as create_elf_tables() and copy_strings() in Linux leave it:
 *
 *   8 zero bytes, AT_EXECFN's string, environment strings, argument strings, padding to 16,
 *   "x86_64" (AT_PLATFORM), 16 random bytes, padding, auxiliary vector, envp[], argv[], argc  <- rsp, a multiple of 16
 */
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "isa/level.h"
#include "os/session/process.h"
#include "os/mm/vma.h"
#include "os/task/stack.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define FIRST_ROOM	  0x20000ul /* below the initial contents: the kernel's stack_expand */
#define RESERVE_MIN	  0x20000ul
#define RESERVE_MAX	  0x40000000000ul /* an unlimited stack gets 4 TiB of addresses */
#define RESERVE_UNLIMITED 0x400000000ul	  /* and 16 GiB if the limit is none */
#define RANDOM_BYTES	  16
#define TOP_STEP	  0x10000000000ul /* 1 TiB */

static gva found_top = LAYOUT_GUEST_END;

/* A host that does not give an address that was asked for gives another one. */
static bool gives_memory_at(gva at)
{
	long ret = sys6(__NR_mmap, at, PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (!sys_is_error(ret))
		sys2(__NR_munmap, ret, PAGE_SIZE);
	return (gva)ret == at || ret == -EEXIST;
}

bool stack_find_top(void)
{
	for (gva top = LAYOUT_GUEST_END; top > LAYOUT_END + TOP_STEP; top -= TOP_STEP) {
		if (!gives_memory_at(top - PAGE_SIZE))
			continue;
		found_top = top;
		return true;
	}
	return false;
}

gva stack_top(void)
{
	return found_top;
}

void stack_parse_kernel(const u64 *sp, struct stack_kernel *out)
{
	const u64 *p = sp + 1;

	memset(out, 0, sizeof(*out));
	out->argc = sp[0];
	out->argv = p;
	p += out->argc + 1;
	out->envp = p;
	while (p[out->envc])
		out->envc++;
	p += out->envc + 1;
	if (out->envc)
		out->handover = (char *)out->envp[--out->envc];
	out->auxv = p;
	while (p[2 * out->auxc] != AT_NULL)
		out->auxc++;
	out->auxc++;
	out->strings = out->argc ? (const char *)out->argv[0] : out->handover;
	out->strings_len = (u64)out->handover - (u64)out->strings;
}

u64 stack_kernel_auxv(const struct stack_kernel *k, u64 type)
{
	for (u64 i = 0; i < k->auxc; i++)
		if (k->auxv[2 * i] == type)
			return k->auxv[2 * i + 1];
	return 0;
}

void stack_relocate_kernel(struct stack_kernel *k, const u64 *from, u64 *to)
{
	u64 delta = (u64)to - (u64)from;
	u64 *argv, *auxv;

	stack_parse_kernel(to, k);
	argv = (u64 *)k->argv;
	auxv = (u64 *)k->auxv;
	for (u64 i = 0; i < k->argc + 1 + k->envc + 1; i++)
		if (argv[i])
			argv[i] += delta;
	for (u64 i = 0; i < k->auxc; i++)
		if (auxv[2 * i] == AT_EXECFN || auxv[2 * i] == AT_PLATFORM || auxv[2 * i] == AT_RANDOM)
			auxv[2 * i + 1] += delta;
	stack_parse_kernel(to, k);
}

/* --pin=stack: strings and vectors begin where they do, as long as none of them is longer than that. */
#define PIN_STEP  0x10000ul
#define PIN_STEPS 3 /* the second string, the vectors and sp are at one */

u64 stack_reserve(void)
{
	struct rlimit lim = {.rlim_cur = 8 << 20};
	u64 steps = held_still(PIN_STACK) ? PIN_STEPS * PIN_STEP : 0;

	sys2(__NR_getrlimit, RLIMIT_STACK, &lim);
	if (lim.rlim_cur == RLIM_INFINITY)
		return RESERVE_UNLIMITED;
	return ALIGN_UP(MIN(MAX(lim.rlim_cur, RESERVE_MIN) + steps, RESERVE_MAX), PAGE_SIZE);
}

/* Positions of everything, from the top down. */
struct plan {
	gva execfn, strings, platform, random, auxv, envp, argv, sp;
	u64 platform_len, auxc;
};

static gva down(gva at)
{
	return ALIGN_DOWN(at, held_still(PIN_STACK) ? PIN_STEP : 16);
}

/* Where the strings begin, which end at `end`. Held still, the second one begins at a step. */
static gva place_strings(const struct stack_kernel *k, gva end)
{
	u64 first = k->argc ? strlen(k->strings) + 1 : 0;

	return held_still(PIN_STACK) ? down(end - (k->strings_len - first)) - first : end - k->strings_len;
}

/* Kernels differ in what they tell of rseq(2) and of further features: AT_RSEQ_FEATURE_SIZE to AT_HWCAP4. */
static bool is_passed_on(u64 type)
{
	return !held_still(PIN_STACK) || type < 27 || type > 30;
}

static void plan(const struct stack_kernel *k, const struct stack_program *prog, const char *platform, struct plan *l)
{
	u64 items = 1 + (k->argc + 1) + (k->envc + 1);
	gva p = found_top - ALIGN_DOWN(prog->random_shift, 16) - sizeof(u64);

	p = place_strings(k, p - (strlen(prog->exec_name) + 1));
	l->strings = p;
	l->execfn = p + k->strings_len;
	p = down(p);
	l->platform_len = platform ? strlen(platform) + 1 : 0;
	p -= l->platform_len;
	l->platform = p;
	p -= RANDOM_BYTES;
	l->random = p;
	for (u64 i = 0; i < k->auxc; i++)
		l->auxc += is_passed_on(k->auxv[2 * i]);
	l->sp = down(p - 8 * (2 * l->auxc + items));
	l->argv = l->sp + 8;
	l->envp = l->argv + 8 * (k->argc + 1);
	l->auxv = l->envp + 8 * (k->envc + 1);
}

static int map_stack(gva sp, bool exec)
{
	const gva top = found_top;
	u64 reserve = stack_reserve();
	u64 size = ALIGN_UP(top - sp, PAGE_SIZE) + FIRST_ROOM;
	struct vma vma = {
		.end = top,
		.prot = PROT_READ | PROT_WRITE | (exec ? PROT_EXEC : 0),
		.flags = VMA_GROWSDOWN,
		.kind = VMA_STACK,
	};
	long ret;

	if (size > reserve)
		size = MAX(ALIGN_UP(top - sp, PAGE_SIZE), reserve);
	ret = sys6(__NR_mmap, top - size, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_STACK | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_is_error(ret))
		return ret;
	if ((gva)ret != top - size) {
		log_printf(0, "the host has no room of %#lx for the stack below %#lx", size, top);
		return -ENOMEM;
	}
	vma.start = top - MAX(size, reserve);
	vma_lock();
	vma_insert_locked(&vma);
	vma_unlock();
	return 0;
}

/* The value that the guest sees for an entry of the kernel's auxiliary vector. */
static u64 auxv_value(const struct stack_program *prog, const struct plan *l, u64 type, u64 kernel_value)
{
	enum isa_level level = the_process.config.cpu_level;

	switch (type) {
	case AT_SYSINFO_EHDR:
		return prog->vdso;
	case AT_PHDR:
		return prog->phdr;
	case AT_PHENT:
		return sizeof(Elf64_Phdr);
	case AT_PHNUM:
		return prog->phnum;
	case AT_BASE:
		return prog->interp_base;
	case AT_ENTRY:
		return prog->entry;
	case AT_RANDOM:
		return l->random;
	case AT_EXECFN:
		return l->execfn;
	case AT_PLATFORM:
		return l->platform;
	case AT_HWCAP:
		return level ? isa_level_hwcap(level) : isa_mask_hwcap(kernel_value);
	case AT_HWCAP2:
		return level ? 0 : isa_mask_hwcap2(kernel_value);
	}
	return kernel_value;
}

static int write_u64(gva *at, u64 value)
{
	int ret = guest_write(*at, &value, sizeof(value));

	*at += sizeof(value);
	return ret;
}

/* A vector of pointers into the kernel's strings, moved to ours, with its NULL. */
static int write_pointers(gva at, const u64 *from, u64 n, u64 delta)
{
	int ret = 0;

	for (u64 i = 0; i < n; i++)
		ret |= write_u64(&at, from[i] + delta);
	return ret | write_u64(&at, 0);
}

static int write_random(gva at, bool from_kernel, u64 kernel_random)
{
	static const u8 fixed[RANDOM_BYTES] = {0x00, 0x5d, 0x1f, 0x83, 0xc4, 0x27, 0x6e, 0xb9,
					       0x3a, 0x91, 0x4c, 0xe6, 0x08, 0xd2, 0x75, 0xaf};

	return guest_write(at, from_kernel && kernel_random ? (const void *)kernel_random : fixed, RANDOM_BYTES);
}

static int fill(const struct stack_kernel *k, const struct stack_program *prog, const struct plan *l,
		const char *platform)
{
	u64 delta = l->strings - (u64)k->strings;
	gva at = l->auxv, sp = l->sp;
	int ret = 0;

	for (u64 i = 0; i < k->auxc; i++) {
		if (!is_passed_on(k->auxv[2 * i]))
			continue;
		ret |= write_u64(&at, k->auxv[2 * i]);
		ret |= write_u64(&at, auxv_value(prog, l, k->auxv[2 * i], k->auxv[2 * i + 1]));
	}
	ret |= write_u64(&sp, k->argc);
	ret |= write_pointers(l->argv, k->argv, k->argc, delta);
	ret |= write_pointers(l->envp, k->envp, k->envc, delta);
	ret |= guest_write(l->execfn, prog->exec_name, strlen(prog->exec_name) + 1);
	ret |= guest_write(l->strings, k->strings, k->strings_len);
	if (platform)
		ret |= guest_write(l->platform, platform, l->platform_len);
	ret |= write_random(l->random, prog->random_bytes, stack_kernel_auxv(k, AT_RANDOM));
	return ret ? -EFAULT : 0;
}

int stack_build(const struct stack_kernel *k, const struct stack_program *prog, struct stack_built *out)
{
	const char *platform = (const char *)stack_kernel_auxv(k, AT_PLATFORM);
	struct plan l = {0};
	int ret;

	plan(k, prog, platform, &l);
	ret = map_stack(l.sp, prog->exec_stack);
	if (ret)
		return ret;
	out->sp = l.sp;
	out->arg_start = l.strings;
	out->env_end = l.execfn;
	out->env_start = k->envc ? k->envp[0] + l.strings - (u64)k->strings : l.execfn;
	out->arg_end = out->env_start;
	out->auxv = l.auxv;
	out->auxv_size = l.auxc * 16;
	return fill(k, prog, &l, platform);
}
