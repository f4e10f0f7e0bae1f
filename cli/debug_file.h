/*
 * The separate file that has the symbol table of a stripped one: /usr/lib/debug/.build-id/xx/yyyy.debug, or the name in
 * .gnu_debuglink, with the right checksum, beside the file, in .debug below it, or below /usr/lib/debug.
 */
#ifndef CLI_DEBUG_FILE_H
#define CLI_DEBUG_FILE_H

#include <libelf.h>
#include <stdbool.h>

struct debug_file {
	int fd; /* -1: none */
	Elf *elf;
};

/* False: there is none, or none with a symbol table. */
bool debug_file_open(struct debug_file *d, Elf *of, const char *path);
void debug_file_close(struct debug_file *d);

#endif
