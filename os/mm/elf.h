/*
 * ELF64 x86-64 images: checks before an exec, and mapping them.
 *
 * elf_probe() refuses as Linux's binfmt_elf does before its point of no return, in the same order. elf_load() maps;
 * what fails there is fatal for a program that is being replaced.
 */
#ifndef OS_ELF_H
#define OS_ELF_H

#include "abi/types.h"
#include "os/mm/vma.h"

#define ELF_INTERP_MAX 4096

struct elf_image {
	u64 bias;	 /* to add to the file's addresses */
	gva entry, phdr; /* where it starts; its program headers in memory, 0: not mapped */
	u16 phnum;
	bool exec_stack;
	gva code_start, code_end, data_start, data_end; /* as /proc/PID/stat shows them */
	gva start, end;					/* page of the first byte, page after the last */
};

/*
 * Looks at the headers of a program. Writes the path of its interpreter to `interp` (ELF_INTERP_MAX bytes), empty if it
 * has none. 0, -ENOEXEC, -EIO, ... with the reason told to refuse().
 */
int elf_probe(int fd, char *interp);
/* The same for an interpreter: -ELIBBAD. */
int elf_probe_interp(int fd);

/* Which part of a program or library is code, in whole pages of the file. False: none is. */
bool elf_code(const char *path, u64 *offset, u64 *end);

/* Maps a probed image: 0 or -errno. */
int elf_load(int fd, enum vma_place place, struct elf_image *out);

#endif
