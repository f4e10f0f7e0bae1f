/* See functions.h. */
#include <elf.h>
#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* the same as ours */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "cli/elf_symbols.h"
#include "cli/functions.h"
#include "cli/jit_map.h"
#include "cli/memory.h"

#define BUCKETS	  4096u
#define MEMO	  65536u
#define UNKNOWN	  FUNCTION_UNKNOWN
#define VDSO	  "[vdso]"
#define JIT	  "[jit]"
#define ANONYMOUS "[anonymous]"	 /* of memory that is of no file: "//anon" */
#define RETURN	  "__restore_rt" /* where signal handlers return to; nobody calls it */

struct functions_file {
	struct functions_file *next;
	char *path;
	bool readable;
	struct elf_symbols symbols;
};

struct functions_jit {
	struct functions_jit *next;
	u32 pid;
	struct jit_map map;
};

struct functions_memo {
	u64 address;
	u32 space, generation;
	const struct function *function;
};

void functions_begin(struct functions *f, const struct spaces *spaces)
{
	if (access("/proc/self/maps", F_OK))
		fprintf(stderr,
			"pcl: there is no /proc, by which files of code are found: all functions are " UNKNOWN "\n");
	*f = (struct functions){.spaces = spaces,
				.bucket = memory_zeroed(BUCKETS, sizeof(*f->bucket)),
				.memo = memory_zeroed(MEMO, sizeof(*f->memo))};
}

/* Of "NAME@plt" it is NAME. */
static char *demangled(const char *symbol)
{
	char *name = memory_text(symbol), *plt = strstr(name, ELF_SYMBOLS_PLT), *text = NULL, *whole;
	size_t size;

	if (plt)
		*plt = 0;
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "__Z", 3))
		text = cplus_demangle(name, DMGL_NO_OPTS);
	free(name);
	if (!text || !plt)
		return text ? text : memory_text(symbol);
	size = strlen(text) + sizeof(ELF_SYMBOLS_PLT);
	whole = memory_zeroed(size, 1);
	snprintf(whole, size, "%s" ELF_SYMBOLS_PLT, text);
	free(text);
	return whole;
}

static const struct function *intern(struct functions *f, const char *symbol, const char *file)
{
	char *name = demangled(symbol);
	u32 hash = 5381;
	struct function *at;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	for (at = f->bucket[hash % BUCKETS]; at; at = at->next)
		if (at->file == file && !strcmp(at->name, name)) {
			free(name);
			return at;
		}
	at = memory_zeroed(1, sizeof(*at));
	*at = (struct function){name, file, f->nr++, f->bucket[hash % BUCKETS]};
	f->bucket[hash % BUCKETS] = at;
	return at;
}

/* The vDSO of this process is that of all. */
static bool read_vdso(struct elf_symbols *s)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *h = (const void *)image;

	return image && elf_symbols_image(s, image, h->e_shoff + (u64)h->e_shnum * h->e_shentsize);
}

static struct functions_file *get_file(struct functions *f, const char *path)
{
	struct functions_file *file;

	for (file = f->files; file; file = file->next)
		if (!strcmp(file->path, path))
			return file;
	file = memory_zeroed(1, sizeof(*file));
	*file = (struct functions_file){.next = f->files, .path = memory_text(path)};
	file->readable = strcmp(path, VDSO) ? path[0] == '/' && elf_symbols_read(&file->symbols, path)
					    : read_vdso(&file->symbols);
	f->files = file;
	return file;
}

static const char *find_jit(struct functions *f, u32 pid, u64 address)
{
	struct functions_jit *jit;

	for (jit = f->jits; jit && jit->pid != pid; jit = jit->next)
		;
	if (!jit) {
		jit = memory_zeroed(1, sizeof(*jit));
		jit->next = f->jits;
		jit->pid = pid;
		jit_map_read(&jit->map, pid, &f->spaces->began);
		f->jits = jit;
	}
	return jit_map_find(&jit->map, address);
}

static const struct function *find(struct functions *f, const struct who *who, u64 address)
{
	const struct mapping *m = spaces_find(f->spaces, who->space, who->generation, address);
	const struct functions_file *file = m ? get_file(f, m->path) : NULL;
	const struct elf_symbol *symbol;
	const char *jit;
	u64 at;

	if (file && file->readable) {
		symbol = elf_symbols_address(&file->symbols, address - m->start + m->offset, &at)
				 ? elf_symbols_find(&file->symbols, at)
				 : NULL;
		return intern(f, symbol ? symbol->name : UNKNOWN, file->path);
	}
	jit = find_jit(f, f->spaces->space[who->space].pid, address);
	if (jit)
		return intern(f, jit, JIT);
	return intern(f, UNKNOWN, !file ? UNKNOWN : strncmp(file->path, "//", 2) ? file->path : ANONYMOUS);
}

const struct function *functions_find(struct functions *f, const struct who *who, u64 address)
{
	u64 hash = (address ^ (u64)who->space << 48 ^ (u64)who->generation << 32) * 0x9e3779b97f4a7c15ul;
	struct functions_memo *m = &f->memo[hash >> 48];

	if (!m->function || m->address != address || m->space != who->space || m->generation != who->generation)
		*m = (struct functions_memo){address, who->space, who->generation, find(f, who, address)};
	return m->function;
}

const struct function *functions_caller(struct functions *f, const struct who *who, u64 address,
					const struct function *inner)
{
	const struct function *here;

	if (!strcmp(inner->name, RETURN))
		return functions_find(f, who, address);
	here = functions_find(f, who, address);
	return strcmp(here->name, RETURN) ? functions_find(f, who, address - 1) : here;
}

void functions_free(struct functions *f)
{
	for (u32 i = 0; f->bucket && i < BUCKETS; i++)
		for (struct function *at = f->bucket[i], *next; at; at = next) {
			next = at->next;
			free(at->name);
			free(at);
		}
	for (struct functions_file *file = f->files, *next; file; file = next) {
		next = file->next;
		elf_symbols_free(&file->symbols);
		free(file->path);
		free(file);
	}
	for (struct functions_jit *jit = f->jits, *next; jit; jit = next) {
		next = jit->next;
		jit_map_free(&jit->map);
		free(jit);
	}
	free(f->bucket);
	free(f->memo);
	*f = (struct functions){0};
}
