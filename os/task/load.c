/*
 * The start of a program in a fresh image; see load.h.
 *
 * Order: note what the kernel has put into the address space, bring the vDSO to a place that repeats, take the kernel's
 * stack out of the way, map program and interpreter, build the guest's stack, tell the kernel about it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include "cpu/cpu.h"
#include "os/mm/elf.h"
#include "os/mm/make_way.h"
#include "os/session/apart.h"
#include "os/session/process.h"
#include "os/task/error_text.h"
#include "os/task/exec.h"
#include "os/session/handover.h"
#include "os/task/load.h"
#include "os/task/program.h"
#include "os/session/proc.h"
#include "os/mm/procmaps.h"
#include "os/session/scratch.h"
#include "os/session/vdso.h"
#include "os/sig/signal.h"
#include "os/task/stack.h"
#include "os/mm/sys_mm.h"
#include "os/mm/sys_rlimit.h"
#include "os/files/vfile.h"
#include "os/mm/vma.h"
#include "os/mm/warm.h"
#include "rt/fmt.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define LOW_RANDOM	    0x4000000ul	    /* with --aslr: images move by less than that, */
#define TOP_RANDOM	    0x10000000000ul /* the mmap area, */
#define STACK_RANDOM	    0x400000ul	    /* the stack, */
#define BRK_RANDOM	    0x2000000ul	    /* and the brk area */
#define VDSO_ROOM	    0x10000ul	    /* for the vDSO and its data, which not all kernels have as much of */
#define SPECIALS	    8
#define DELETED		    " (deleted)" /* in /proc/PID/exe after the path of a file that has none any more */
#define EXIT_NOT_FOUND	    127
#define EXIT_NOT_EXECUTABLE 126

/* What the kernel mapped for us. */
struct kernel_maps {
	gva stack_start, stack_end;
	struct {
		gva start, end;
		u32 prot, kind;
	} special[SPECIALS]; /* [vdso], [vvar], ... in order of address */
	u32 specials;
};

struct loading {
	struct stack_kernel kernel;
	struct kernel_maps maps;
	struct elf_image program, interp;
	const u64 *kernel_sp;
	int fd; /* of the program */
	bool has_interp;
	bool committed; /* both are such as Linux takes; what it finds out from here on it answers by SIGSEGV */
	gva vdso;
	u64 random[4];
	char path[PROCMAPS_BUFFER]; /* of the interpreter; buffer for /proc/self/maps */
};

/*
 * Ends a program that cannot be loaded. The session's first one: with a message, and the shell's status if the program
 * could still be refused. Past the point of no return Linux does force_fatal_sig(SIGSEGV).
 */
static void __attribute__((noreturn)) fail(struct thread *t, bool refusable, const char *what, int err)
{
	const char *why = t->refusal.why;

	log_printf(handover.fd ? 2 : 0, "%s: %s%s%s", what, error_text(-err), why ? ": " : "", why ? why : "");
	if (refusable)
		sys1(__NR_exit_group, err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
	signal_die(t, SIGSEGV);
}

/* What pcl finds no room for may have room natively. */
static bool is_past_return(const struct loading *ld, int err)
{
	return ld->committed && err != -ENOMEM && err != -EEXIST;
}

static bool name_is(const struct procmaps_line *line, const char *name)
{
	return !strncmp(line->name, name, strlen(name));
}

static u32 perms_prot(const char *perms)
{
	return (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
	       (perms[2] == 'x' ? PROT_EXEC : 0);
}

/* Without /proc. Nobody asks for the vDSO's data pages. */
static void note_vdso_locked(const struct loading *ld)
{
	u32 kind = held_still(PIN_CLOCK) ? VMA_HOST : VMA_VDSO;
	struct vma vma = {ld->vdso, vdso_end(ld->vdso), .prot = PROT_READ | PROT_EXEC, .kind = kind};

	if (vma.end)
		vma_insert_locked(&vma);
}

/* The whole of the kernel's mapping, which may be larger than what is in it. */
static void prepare_vdso(const struct loading *ld)
{
	const struct kernel_maps *m = &ld->maps;
	gva end = vdso_end(ld->vdso);

	for (u32 i = 0; i < m->specials; i++)
		if (m->special[i].start == ld->vdso)
			end = m->special[i].end;
	vdso_prepare(ld->vdso, end);
}

static void read_kernel_maps(struct loading *ld)
{
	struct kernel_maps *m = &ld->maps;
	struct procmaps pm;
	struct procmaps_line line;
	bool vdso;

	if (procmaps_open(&pm, "self/maps", ld->path))
		return;
	while (procmaps_next(&pm, &line)) {
		if (name_is(&line, "[stack]")) {
			m->stack_start = line.start;
			m->stack_end = line.end;
			continue;
		}
		/* gVisor has no name for it. */
		vdso = name_is(&line, "[vdso]") || (line.start == ld->vdso && line.start);
		if ((vdso || name_is(&line, "[vvar")) && m->specials < SPECIALS) {
			m->special[m->specials].start = line.start;
			m->special[m->specials].end = line.end;
			m->special[m->specials].prot = perms_prot(line.perms);
			m->special[m->specials++].kind = vdso ? VMA_VDSO : VMA_VVAR;
		}
	}
	procmaps_close(&pm);
}

/*
 * The kernel's own initial stack may lie where the guest's must be (always so if the host does not randomise). A copy
 * of what is on it takes its place.
 */
static int release_kernel_stack(struct loading *ld)
{
	u64 size = ld->maps.stack_end - (u64)ld->kernel_sp;
	u64 *copy;

	if (!ld->maps.stack_end || ld->maps.stack_end <= stack_top() - stack_reserve())
		return 0;
	copy = scratch_alloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, ld->kernel_sp, size);
	stack_relocate_kernel(&ld->kernel, ld->kernel_sp, copy);
	sys2(__NR_munmap, ld->maps.stack_start, ld->maps.stack_end - ld->maps.stack_start);
	ld->maps.stack_start = (u64)copy;
	ld->maps.stack_end = (u64)copy + ALIGN_UP(size, PAGE_SIZE);
	return 0;
}

static void note_special(const struct kernel_maps *m, u32 i, gva at)
{
	struct vma vma = {
		.start = at,
		.end = at + m->special[i].end - m->special[i].start,
		.prot = m->special[i].prot,
		.kind = held_still(PIN_CLOCK) ? VMA_HOST : m->special[i].kind,
	};

	vma_insert_locked(&vma);
	if (vma.kind == VMA_VDSO)
		warm_vdso_locked(vma.start, vma.end);
}

/*
 * vDSO and its data pages move together, or stay where they are. As on Linux they come after the images: libraries go
 * below them, which ld.so's table of objects, sorted by address, shows in the instruction count. They are at the end of
 * a room of their own, of which nobody gets the rest: so libraries are at the same place however large they are.
 */
static void place_vdso_locked(struct loading *ld)
{
	struct kernel_maps *m = &ld->maps;
	gva low = m->special[0].start, high = m->special[m->specials - 1].end, to;
	u64 all = high - low, room = MAX(all, VDSO_ROOM), delta;
	struct vma rest = {.kind = VMA_HOST};

	if (all < 0x100000)
		rest.start = vma_find_free_locked(PLACE_NEAR, room, PAGE_SIZE);
	to = rest.end = rest.start + room - all;
	if (!rest.start || (to < high && low < to + all))
		to = low;
	delta = to - low;
	for (u32 i = 0; i < m->specials; i++) {
		u64 size = m->special[i].end - m->special[i].start;
		gva at = m->special[i].start + delta;

		if (delta && sys_is_error(sys5(__NR_mremap, m->special[i].start, size, size,
					       MREMAP_MAYMOVE | MREMAP_FIXED, at))) {
			check(i == 0); /* the first cannot be moved: none has been */
			delta = 0;
			at = m->special[i].start;
		}
		note_special(m, i, at);
	}
	if (ld->vdso)
		ld->vdso += delta;
	if (delta && rest.end > rest.start)
		vma_insert_locked(&rest);
}

static void note_host_locked(const struct kernel_maps *m)
{
	struct vma vma = {.start = m->stack_start, .end = m->stack_end, .kind = VMA_HOST};

	if (vma.end)
		vma_insert_locked(&vma);
}

static void randomize(struct loading *ld)
{
	if (!the_process.config.aslr)
		return;
	if (sys3(__NR_getrandom, ld->random, sizeof(ld->random), 0) != (long)sizeof(ld->random))
		return;
	vma_set_random(ld->random[0] % LOW_RANDOM, ld->random[1] % TOP_RANDOM);
	ld->random[2] %= STACK_RANDOM;
	ld->random[3] = ALIGN_DOWN(ld->random[3] % BRK_RANDOM, PAGE_SIZE);
}

static void note_own_memory(const struct kernel_maps *m)
{
	u64 special = 0;

	for (u32 i = 0; i < m->specials; i++)
		special += m->special[i].end - m->special[i].start;
	rlimit_note_own(m->stack_end - m->stack_start, special);
}

static int prepare_memory(struct loading *ld)
{
	u64 reserve = stack_reserve() + STACK_RANDOM;
	int ret = vma_init();

	if (ret)
		return ret;
	read_kernel_maps(ld);
	note_own_memory(&ld->maps);
	if (!stack_find_top()) {
		log_printf(handover.fd ? 2 : 0, "the host has no memory for a stack above %#lx", LAYOUT_END);
		return -ENOMEM;
	}
	ret = release_kernel_stack(ld);
	if (ret)
		return ret;
	vma_set_top(stack_top() - MAX(ALIGN_UP(reserve, 0x1000000ul), LAYOUT_GUEST_STACK_ROOM));
	randomize(ld);
	vma_lock();
	note_host_locked(&ld->maps);
	make_way_init_locked();
	vma_unlock();
	return 0;
}

static long open_program(void)
{
	if (handover.fd == HANDOVER_BY_PATH)
		return program_open(AT_FDCWD, handover.path, 0);
	return handover.fd ? (long)handover.fd - 1
			   : sys4(__NR_openat, AT_FDCWD, handover.name, O_RDONLY | O_CLOEXEC, 0);
}

static long probe_images(struct loading *ld, int fd, long *interp_fd)
{
	int ret = elf_probe(fd, ld->path);

	if (ret || !ld->path[0])
		return ret;
	*interp_fd = handover.interp ? (long)handover.interp - 1 : program_open_interp(ld->path);
	return *interp_fd < 0 ? *interp_fd : handover.interp ? 0 : elf_probe_interp((int)*interp_fd);
}

static int load_images(struct loading *ld)
{
	long interp_fd = -1;
	int ret = (int)probe_images(ld, ld->fd, &interp_fd);

	if (ret)
		return ret;
	ld->committed = true;
	ld->has_interp = interp_fd >= 0;
	/* What is its own interpreter goes where Linux puts interpreters. */
	ret = elf_load(ld->fd, ld->has_interp ? PLACE_PROGRAM : PLACE_NEAR, &ld->program);
	if (!ret && ld->has_interp)
		ret = elf_load((int)interp_fd, PLACE_NEAR, &ld->interp);
	if (ld->has_interp)
		sys1(__NR_close, interp_fd);
	return ret;
}

/*
 * /proc/PID/cmdline, environ, auxv and stat show the guest's stack from here on, to any reader, and the kernel's stack
 * can go. A kernel without CONFIG_CHECKPOINT_RESTORE refuses; then both stacks stay, with the same strings on them.
 */
static void set_mm_map(const struct loading *ld, const struct stack_built *built)
{
	struct prctl_mm_map map = {
		.start_code = ld->program.code_start,
		.end_code = ld->program.code_end,
		.start_data = ld->program.data_start,
		.end_data = ld->program.data_end,
		.start_brk = ld->program.end, /* the kernel's own is not used */
		.brk = ld->program.end,
		.start_stack = built->sp,
		.arg_start = built->arg_start,
		.arg_end = built->arg_end,
		.env_start = built->env_start,
		.env_end = built->env_end,
		.auxv = (void *)built->auxv,
		.auxv_size = built->auxv_size,
		.exe_fd = (u32)-1,
	};
	const struct kernel_maps *m = &ld->maps;

	if (sys5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) || !m->stack_end)
		return;
	sys2(__NR_munmap, m->stack_start, m->stack_end - m->stack_start);
	vma_lock();
	vma_remove_locked(m->stack_start, m->stack_end);
	vma_unlock();
}

/* As /proc says, which may be missing; without its remark that the file has been unlinked. */
static bool find_path(int fd, char path[ARENA_PATH])
{
	char link[32], *deleted;
	long n;

	rt_snprintf(link, sizeof(link), "self/fd/%d", fd);
	n = sys4(__NR_readlinkat, proc_dir(), link, path, ARENA_PATH - 1);
	path[MAX(n, 0l)] = 0;
	deleted = strstr(path, DELETED);
	if (deleted)
		*deleted = 0;
	return n > 0;
}

/*
 * The kernel names a process after the last part of the path that was executed. For a program named by descriptor, 6.14
 * and later take the file's own name: then this image, which is executed so, is not called after its descriptor's
 * number.
 */
static void set_comm(struct task *task, int fd, char path[ARENA_PATH])
{
	static const char by_fd[] = "/dev/fd/";
	const char *name = handover.name;
	char comm[sizeof(task->comm)];

	sys5(__NR_prctl, PR_GET_NAME, task->comm, 0, 0, 0);
	if (!strncmp(name, by_fd, sizeof(by_fd) - 1) && !strchr(name + sizeof(by_fd) - 1, '/') &&
	    (task->comm[0] < '0' || task->comm[0] > '9') && find_path(fd, path))
		name = path;
	if (strrchr(name, '/'))
		name = strrchr(name, '/') + 1;
	rt_snprintf(comm, sizeof(comm), "%s", name);
	sys5(__NR_prctl, PR_SET_NAME, comm, 0, 0, 0);
	sys5(__NR_prctl, PR_GET_NAME, task->comm, 0, 0, 0);
}

static void set_registers(struct cpu *cpu, gva rip, gva rsp)
{
	for (unsigned i = 0; i < CPU_GPRS; i++)
		cpu_set_gpr(cpu, i, 0);
	cpu_set_gpr(cpu, REG_SP, rsp);
	cpu->rip = rip;
	cpu->rflags = FLAGS_FIXED;
}

/*
 * Where Linux begins the brk area: after the program; below it if the program is where libraries are, as a static PIE.
 * What compares addresses of heap and images takes as many instructions as natively then. The area ends at the
 * libraries, which are much nearer than natively: malloc(3) goes on with mmap there.
 */
static gva place_brk(const struct loading *ld)
{
	gva at = ld->program.end;

	if (!ld->has_interp && ld->program.bias) {
		vma_lock();
		at = vma_find_free_locked(PLACE_PROGRAM, PAGE_SIZE, PAGE_SIZE);
		vma_unlock();
	}
	return at && at < LAYOUT_GUEST_BRK ? at : LAYOUT_GUEST_BRK;
}

static int load(struct loading *ld, struct cpu *cpu)
{
	struct stack_program prog = {0};
	struct stack_built built;
	int ret = load_images(ld);

	if (ret)
		return ret;
	if (ld->vdso)
		prepare_vdso(ld);
	vma_lock();
	if (ld->maps.specials)
		place_vdso_locked(ld);
	else if (ld->vdso)
		note_vdso_locked(ld); /* there is no /proc */
	vma_unlock();
	prog.exec_name = handover.name;
	prog.phdr = ld->program.phdr;
	prog.phnum = ld->program.phnum;
	prog.entry = ld->program.entry;
	prog.exec_stack = ld->program.exec_stack;
	prog.interp_base = ld->has_interp ? ld->interp.bias : 0;
	prog.vdso = held_still(PIN_CLOCK) ? 0 : ld->vdso;
	prog.random_shift = ld->random[2];
	prog.random_bytes = the_process.config.aslr;
	ret = stack_build(&ld->kernel, &prog, &built);
	if (ret)
		return ret;
	mm_set_brk(place_brk(ld) + ld->random[3]);
	set_mm_map(ld, &built);
	set_registers(cpu, ld->has_interp ? ld->interp.entry : ld->program.entry, built.sp);
	return 0;
}

static struct load_result result_of(const struct loading *ld)
{
	struct load_result r = {
		.program = ld->program.start,
		.program_end = ld->program.end,
		.interp = ld->interp.start,
		.interp_end = ld->interp.end,
		.entry = ld->program.entry,
		.program_placed = ld->program.bias,
		.vdso = ld->vdso,
	};

	return r;
}

/* All that reads files. Leaves the program open at ld->fd. */
static long open_and_load(void *arg)
{
	struct loading *ld = arg;
	struct thread *t = thread_current();
	long ret = 0;

	ld->fd = (int)open_program();
	if (ld->fd < 0)
		return ld->fd;
	if (!handover.fd)
		ret = exec_first_script(t, ld->fd, ld->kernel.argv, ld->kernel.envp, ld->kernel.envc);
	if (!ret)
		ret = prepare_memory(ld);
	if (!ret)
		warm_begin(ld->fd);
	return ret ? ret : load(ld, t->cpu);
}

void load_program(struct thread *t, const u64 *kernel_sp, struct load_result *out)
{
	bool first = !handover.fd;
	struct loading *ld = scratch_alloc(sizeof(*ld));
	int ret;

	if (!ld)
		fail(t, first, handover.name, -ENOMEM);
	stack_parse_kernel(kernel_sp, &ld->kernel);
	ld->kernel_sp = kernel_sp;
	ld->vdso = stack_kernel_auxv(&ld->kernel, AT_SYSINFO_EHDR);
	if (handover.fd == HANDOVER_BY_PATH) {
		ret = (int)apart_run_with_table(open_and_load, ld);
		ld->fd = (int)open_program(); /* for vfile_keep_program(), if there is a number */
	} else {
		ret = (int)open_and_load(ld);
	}
	if (ret)
		fail(t, first && !is_past_return(ld, ret), handover.name, ret);
	set_comm(t->task, ld->fd, ld->path);
	vfile_keep_program(ld->fd);
	*out = result_of(ld);
	scratch_free(ld, sizeof(*ld));
}
