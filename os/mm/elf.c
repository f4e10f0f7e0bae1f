/*
 * ELF64 images; see elf.h. The order of checks and their errors are those of load_elf_binary() and load_elf_interp() in
 * Linux 6.x, fs/binfmt_elf.c.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "os/mm/elf.h"
#include "os/mm/exec_memory.h"
#include "os/mm/make_way.h"
#include "os/mm/vma.h"
#include "os/mm/warm.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define PHDR_BYTES_MAX 4096 /* ELF_MIN_ALIGN: all program headers must fit */
#define PHDR_WINDOW    16

/* Program headers, read a window at a time. */
struct phdrs {
	int fd;
	Elf64_Ehdr eh;
	unsigned first, filled;
	Elf64_Phdr window[PHDR_WINDOW];
};

static int read_exactly(int fd, void *buf, u64 n, u64 offset)
{
	long got = sys4(__NR_pread64, fd, buf, n, offset);

	if (got < 0)
		return got;
	return got == (long)n ? 0 : -EIO;
}

static const Elf64_Phdr *phdr(struct phdrs *p, unsigned i)
{
	if (i < p->first || i >= p->first + p->filled) {
		unsigned n = MIN(PHDR_WINDOW, p->eh.e_phnum - i);

		p->filled = 0;
		if (read_exactly(p->fd, p->window, n * sizeof(Elf64_Phdr), p->eh.e_phoff + i * sizeof(Elf64_Phdr)))
			return NULL;
		p->first = i;
		p->filled = n;
	}
	return &p->window[i - p->first];
}

/* Reads and checks the file header. `err` is what a bad one gives. */
static int open_phdrs(struct phdrs *p, int fd, int err)
{
	struct stat st;

	memset(p, 0, offsetof(struct phdrs, window));
	p->fd = fd;
	if (read_exactly(fd, &p->eh, sizeof(p->eh), 0))
		return refuse(err, "the file is shorter than an ELF header");
	if (memcmp(p->eh.e_ident, ELFMAG, SELFMAG))
		return refuse(err, "not an ELF file");
	if (p->eh.e_type != ET_EXEC && p->eh.e_type != ET_DYN)
		return refuse(err, "ELF file that is not executable (e_type)");
	if (p->eh.e_machine == EM_386)
		return refuse(err, "32-bit x86 programs are not supported");
	if (p->eh.e_machine != EM_X86_64)
		return refuse(err, "ELF file for another machine (e_machine)");
	if (sys2(__NR_fstat, fd, &st) || !S_ISREG(st.st_mode))
		return refuse(err, "not a regular file");
	if (p->eh.e_phentsize != sizeof(Elf64_Phdr) || !p->eh.e_phnum ||
	    p->eh.e_phnum * sizeof(Elf64_Phdr) > PHDR_BYTES_MAX)
		return refuse(err, "no or too many program headers, or of a wrong size");
	if (!phdr(p, 0) || !phdr(p, p->eh.e_phnum - 1))
		return refuse(err, "the program headers are beyond the end of the file");
	return 0;
}

static int read_interp(int fd, const Elf64_Phdr *ph, char *interp)
{
	int ret;

	if (ph->p_filesz > ELF_INTERP_MAX || ph->p_filesz < 2)
		return refuse(ENOEXEC, "the interpreter's name has a bad length");
	ret = read_exactly(fd, interp, ph->p_filesz, ph->p_offset);
	if (ret)
		return refuse(-ret, "the interpreter's name is beyond the end of the file");
	if (interp[ph->p_filesz - 1])
		return refuse(ENOEXEC, "the interpreter's name is not terminated");
	return 0;
}

int elf_probe_interp(int fd)
{
	struct phdrs p;
	Elf64_Ehdr eh;
	int ret = read_exactly(fd, &eh, sizeof(eh), 0);

	return ret ? refuse(-ret, "the interpreter is shorter than an ELF header") : open_phdrs(&p, fd, ELIBBAD);
}

/* What the segments span, and the alignment that they ask for. */
struct span {
	u64 low, high, align;
};

static int find_span(struct phdrs *p, struct span *s)
{
	*s = (struct span){~0ul, 0, PAGE_SIZE};
	for (unsigned i = 0; i < p->eh.e_phnum; i++) {
		const Elf64_Phdr *ph = phdr(p, i);

		if (!ph)
			return -EIO;
		if (ph->p_type != PT_LOAD)
			continue;
		if (ph->p_filesz > ph->p_memsz || ph->p_memsz > LAYOUT_GUEST_END ||
		    ph->p_vaddr > LAYOUT_GUEST_END - ph->p_memsz)
			return refuse(EINVAL, "a segment with bad sizes");
		if ((ph->p_offset ^ ph->p_vaddr) & (PAGE_SIZE - 1) && ph->p_filesz)
			return refuse(EINVAL, "a segment whose address and file offset differ within the page");
		s->low = MIN(s->low, ALIGN_DOWN(ph->p_vaddr, PAGE_SIZE));
		s->high = MAX(s->high, ALIGN_UP(ph->p_vaddr + ph->p_memsz, PAGE_SIZE));
		if (ph->p_align > s->align && !(ph->p_align & (ph->p_align - 1)))
			s->align = ph->p_align;
	}
	return s->high > s->low ? 0 : refuse(EINVAL, "nothing to load");
}

int elf_probe(int fd, char *interp)
{
	struct phdrs p;
	struct span span;
	int ret = open_phdrs(&p, fd, ENOEXEC);

	interp[0] = 0;
	for (unsigned i = 0; !ret && i < p.eh.e_phnum && !interp[0]; i++) {
		const Elf64_Phdr *ph = phdr(&p, i);

		if (!ph)
			return -EIO;
		if (ph->p_type == PT_INTERP)
			ret = read_interp(fd, ph, interp);
	}
	if (!ret && p.eh.e_type == ET_EXEC && !find_span(&p, &span) &&
	    (vma_reserved(span.low, span.high) || !make_way_has_room(span.low, span.high)))
		return refuse(ENOEXEC, "linked at addresses that pcl needs for itself");
	return ret;
}

static int map(gva start, u64 len, int prot, int flags, int fd, u64 offset)
{
	long ret = sys6(__NR_mmap, start, len, vma_host_prot(prot), flags | MAP_PRIVATE, fd, offset);

	if (sys_is_error(ret))
		return ret;
	if ((gva)ret == start)
		return 0;
	sys2(__NR_munmap, ret, len); /* a kernel before 4.17, where the flag is unknown */
	return -EEXIST;
}

static int zero_tail(gva from, gva to)
{
	static const char zeroes[256];

	while (from < to) {
		u64 n = MIN(to - from, sizeof(zeroes));

		if (guest_write(from, zeroes, n))
			return -EFAULT;
		from += n;
	}
	return 0;
}

/* What of it lies in segments before is replaced, and nothing else. */
static int map_zeros(gva start, gva end, int prot, gva mapped_to)
{
	gva behind = MIN(MAX(start, mapped_to), end);
	int ret = behind > start ? map(start, behind - start, prot, MAP_ANONYMOUS | MAP_FIXED, -1, 0) : 0;

	if (ret || end == behind)
		return ret;
	return map(behind, end - behind, prot, MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Segments may share a page: then the later one has it, as under Linux. mapped_to is the end of those before. */
static int map_segment(int fd, const Elf64_Phdr *ph, u64 bias, gva mapped_to)
{
	gva start = ALIGN_DOWN(ph->p_vaddr + bias, PAGE_SIZE);
	gva file_end = ph->p_vaddr + bias + ph->p_filesz;
	gva map_end = ph->p_filesz ? ALIGN_UP(file_end, PAGE_SIZE) : start;
	gva mem_end = ALIGN_UP(ph->p_vaddr + bias + ph->p_memsz, PAGE_SIZE);
	int prot = (ph->p_flags & PF_R ? PROT_READ : 0) | (ph->p_flags & PF_W ? PROT_WRITE : 0) |
		   (ph->p_flags & PF_X ? PROT_EXEC : 0);
	struct vma vma = {
		.start = start,
		.end = map_end,
		.prot = prot,
		.flags = VMA_FILE,
		.offset = ALIGN_DOWN(ph->p_offset, PAGE_SIZE),
		.id = vma_new_id_locked(),
	};
	struct warm_file file;
	int ret;

	if (map_end > start) {
		if (exec_memory_denies(prot))
			return refuse(EACCES, "PR_SET_MDWE: a segment that is writable and executable");
		ret = map(start, map_end - start, prot, start < mapped_to ? MAP_FIXED : MAP_FIXED_NOREPLACE, fd,
			  vma.offset);
		if (ret)
			return ret;
		vma_insert_locked(&vma);
		if ((prot & PROT_EXEC) && !(prot & PROT_WRITE) && warm_identify(fd, &file))
			warm_mapped_locked(start, map_end, vma.offset, &file);
		if (ph->p_memsz > ph->p_filesz && (prot & PROT_WRITE) && zero_tail(file_end, MIN(map_end, mem_end)))
			return refuse(EFAULT, "a segment's last page is beyond the end of the file");
	}
	if (mem_end > map_end) {
		vma = (struct vma){
			.start = map_end, .end = mem_end, .prot = PROT_READ | PROT_WRITE | (prot & PROT_EXEC)};
		ret = map_zeros(map_end, mem_end, vma.prot, mapped_to);
		if (ret)
			return ret;
		vma_insert_locked(&vma);
	}
	return 0;
}

/* What the segment means for the process: /proc/PID/stat's addresses, and where the program headers are. */
static void note_segment(const Elf64_Ehdr *eh, const Elf64_Phdr *ph, struct elf_image *out)
{
	gva start = ph->p_vaddr + out->bias;

	if (ph->p_offset <= eh->e_phoff && eh->e_phoff < ph->p_offset + ph->p_filesz)
		out->phdr = eh->e_phoff - ph->p_offset + start;
	if ((ph->p_flags & PF_X) && start < out->code_start)
		out->code_start = start;
	if (start > out->data_start)
		out->data_start = start;
	if ((ph->p_flags & PF_X) && start + ph->p_filesz > out->code_end)
		out->code_end = start + ph->p_filesz;
	if (start + ph->p_filesz > out->data_end)
		out->data_end = start + ph->p_filesz;
}

static int load_locked(struct phdrs *p, enum vma_place place, struct elf_image *out)
{
	struct span span;
	int ret = find_span(p, &span);

	if (ret)
		return ret;
	if (p->eh.e_type == ET_DYN) {
		gva at = vma_find_free_locked(place, span.high - span.low, span.align);

		if (!at)
			return refuse(ENOMEM, "no room for the image");
		out->bias = at - span.low;
	} else if (vma_reserved(span.low, span.high) || vma_host_locked(span.low, span.high)) {
		return refuse(ENOMEM, "linked at addresses that pcl needs for itself");
	}
	out->start = span.low + out->bias;
	for (unsigned i = 0; i < p->eh.e_phnum; i++) {
		const Elf64_Phdr *ph = phdr(p, i);

		if (!ph)
			return -EIO;
		if (ph->p_type == PT_GNU_STACK)
			out->exec_stack = ph->p_flags & PF_X;
		if (ph->p_type != PT_LOAD)
			continue;
		ret = map_segment(p->fd, ph, out->bias, out->end);
		if (ret)
			return ret;
		note_segment(&p->eh, ph, out);
		out->end = MAX(out->end, ALIGN_UP(ph->p_vaddr + out->bias + ph->p_memsz, PAGE_SIZE));
	}
	out->entry = p->eh.e_entry + out->bias;
	out->phnum = p->eh.e_phnum;
	return 0;
}

int elf_load(int fd, enum vma_place place, struct elf_image *out)
{
	struct phdrs p;
	struct span span;
	int ret = open_phdrs(&p, fd, ENOEXEC);

	memset(out, 0, sizeof(*out));
	out->code_start = ~0ul;
	if (ret)
		return ret;
	if (p.eh.e_type == ET_EXEC && !find_span(&p, &span))
		make_way_lock(span.low, span.high);
	else
		vma_lock();
	ret = load_locked(&p, place, out);
	vma_unlock();
	return ret;
}

bool elf_code(const char *path, u64 *offset, u64 *end)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	struct phdrs p;
	bool found = false;

	if (fd < 0)
		return false;
	if (!open_phdrs(&p, (int)fd, ENOEXEC))
		for (unsigned i = 0; i < p.eh.e_phnum && !found; i++) {
			const Elf64_Phdr *ph = phdr(&p, i);

			found = ph && ph->p_type == PT_LOAD && (ph->p_flags & PF_X);
			if (found) {
				*offset = ALIGN_DOWN(ph->p_offset, PAGE_SIZE);
				*end = ALIGN_UP(ph->p_offset + ph->p_filesz, PAGE_SIZE);
			}
		}
	sys1(__NR_close, fd);
	return found;
}
