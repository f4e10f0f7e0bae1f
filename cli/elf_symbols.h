/* The functions of an ELF file, by libelf: of its own symbol table or its debug file's, else of the dynamic one; and
 * the entries of its PLT. */
#ifndef CLI_ELF_SYMBOLS_H
#define CLI_ELF_SYMBOLS_H

#include <libelf.h>
#include <stdbool.h>
#include "abi/types.h"

/* Behind the name of a function: its entry in the PLT. */
#define ELF_SYMBOLS_PLT "@plt"

struct elf_symbol {
	u64 start, end; /* addresses as the file has them */
	char *name;	/* not demangled */
};

struct elf_symbols {
	struct elf_symbol *symbol; /* by address, without overlaps of start */
	size_t nr;

	/* private */
	struct elf_segment *segment;
	size_t segments;
};

/* What a name of a file, or of a symbol table, is looked for in: the file is closed after that. False: it is no ELF
 * file that can be read. */
bool elf_symbols_read(struct elf_symbols *s, const char *path);

/* The same of an image in memory, such as the vDSO. */
bool elf_symbols_image(struct elf_symbols *s, char *image, size_t size);

/* The address as the file has it of an offset in the file. False: it is in no segment. */
bool elf_symbols_address(const struct elf_symbols *s, u64 offset, u64 *address);

/* NULL: there is none at the address. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, u64 address);

void elf_symbols_free(struct elf_symbols *s);

#endif
