/*
 * See elf_symbols.h. Of several symbols at one address that one names the function which perf takes too: one with a
 * size, not a weak one, a global one, the one with the fewest underscores in front, the longest.
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/debug_file.h"
#include "cli/elf_symbols.h"
#include "cli/memory.h"

struct elf_segment {
	u64 offset, address, size;
};

struct candidate {
	u64 start, size;
	const char *name;
	unsigned char bind;
	bool plt; /* the name is that of what it leads to */
};

struct candidates {
	struct candidate *list;
	size_t nr, room;
};

static struct candidate *add(struct candidates *c)
{
	if (c->nr == c->room) {
		c->room = c->room ? c->room * 2 : 1024;
		c->list = memory_resize(c->list, c->room, sizeof(*c->list));
	}
	c->list[c->nr] = (struct candidate){0};
	return &c->list[c->nr++];
}

static Elf_Scn *find_section(Elf *elf, GElf_Word type, const char *name, GElf_Shdr *header)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		const char *its;

		if (!gelf_getshdr(scn, header) || (type && header->sh_type != type))
			continue;
		its = name ? elf_strptr(elf, strings, header->sh_name) : NULL;
		if (!name || (its && !strcmp(its, name)))
			return scn;
	}
	return NULL;
}

/* Labels of assembly code have no type. */
static bool is_code(Elf *elf, const GElf_Sym *sym)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);
	GElf_Shdr header;
	Elf_Scn *scn;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE || !sym->st_value)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	if (type != STT_NOTYPE || GELF_ST_VISIBILITY(sym->st_other) == STV_HIDDEN)
		return false;
	scn = elf_getscn(elf, sym->st_shndx);
	return scn && gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR);
}

static bool add_table(Elf *elf, GElf_Word type, struct candidates *c)
{
	GElf_Shdr header;
	Elf_Scn *scn = find_section(elf, type, NULL, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t before = c->nr;
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, header.sh_link, sym.st_name);
		struct candidate *new;

		if (!name || !*name || !is_code(elf, &sym))
			continue;
		new = add(c);
		new->start = sym.st_value;
		new->size = sym.st_size;
		new->name = name;
		new->bind = GELF_ST_BIND(sym.st_info);
	}
	return c->nr > before;
}

/* Entry n of the PLT is for relocation n: name@plt. The first of .plt is the resolver's; .plt.sec has none. */
static void add_plt(Elf *elf, struct candidates *c)
{
	GElf_Shdr plt, rel, dyn;
	Elf_Scn *second = find_section(elf, 0, ".plt.sec", &plt),
		*first = second ? second : find_section(elf, 0, ".plt", &plt);
	Elf_Scn *rel_scn = find_section(elf, 0, ".rela.plt", &rel),
		*dyn_scn = find_section(elf, SHT_DYNSYM, NULL, &dyn);
	Elf_Data *rels = rel_scn ? elf_getdata(rel_scn, NULL) : NULL,
		 *syms = dyn_scn ? elf_getdata(dyn_scn, NULL) : NULL;
	GElf_Rela r;

	for (int i = 0; first && rels && syms && gelf_getrela(rels, i, &r); i++) {
		const u64 entry = 16;
		u64 at = plt.sh_addr + ((u64)i + !second) * entry;
		struct candidate *new;
		const char *name;
		GElf_Sym sym;

		if (at + entry > plt.sh_addr + plt.sh_size || !gelf_getsym(syms, (int)GELF_R_SYM(r.r_info), &sym))
			continue;
		name = elf_strptr(elf, dyn.sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		new = add(c);
		new->start = at;
		new->size = entry;
		new->name = name;
		new->bind = STB_GLOBAL;
		new->plt = true;
	}
}

static char *make_name(const struct candidate *c)
{
	const char *end = c->plt ? ELF_SYMBOLS_PLT : "";
	size_t size = strlen(c->name) + strlen(end) + 1;
	char *name = memory_zeroed(size, 1);

	snprintf(name, size, "%s%s", c->name, end);
	return name;
}

/* The better name first. */
static int by_address(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	const char *p = x->name, *q = y->name;
	size_t m = strspn(p, "_"), n = strspn(q, "_");

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (!x->size != !y->size)
		return !x->size - !y->size;
	if ((x->bind == STB_WEAK) != (y->bind == STB_WEAK))
		return (x->bind == STB_WEAK) - (y->bind == STB_WEAK);
	if ((x->bind == STB_GLOBAL) != (y->bind == STB_GLOBAL))
		return (y->bind == STB_GLOBAL) - (x->bind == STB_GLOBAL);
	if (m != n)
		return m < n ? -1 : 1;
	if (strlen(p) != strlen(q))
		return strlen(p) > strlen(q) ? -1 : 1;
	return strcmp(p, q);
}

/* Symbols without a size go on to the next one. */
static void settle(struct elf_symbols *s, struct candidates *c)
{
	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), by_address);
	s->symbol = memory_resize(NULL, c->nr, sizeof(*s->symbol));
	for (size_t i = 0; i < c->nr; i++) {
		const struct candidate *from = &c->list[i];

		if (s->nr && s->symbol[s->nr - 1].start == from->start)
			continue;
		if (s->nr && s->symbol[s->nr - 1].end == s->symbol[s->nr - 1].start)
			s->symbol[s->nr - 1].end = from->start;
		s->symbol[s->nr++] = (struct elf_symbol){from->start, from->start + from->size, make_name(from)};
	}
	if (s->nr && s->symbol[s->nr - 1].end == s->symbol[s->nr - 1].start)
		s->symbol[s->nr - 1].end += PAGE_SIZE;
}

static void read_segments(struct elf_symbols *s, Elf *elf)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	s->segment = memory_resize(NULL, n, sizeof(*s->segment));
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			s->segment[s->segments++] = (struct elf_segment){p.p_offset, p.p_vaddr, p.p_filesz};
}

/* path may be NULL: then there is no debug file. */
static bool read_elf(struct elf_symbols *s, Elf *elf, const char *path)
{
	struct candidates c = {0};
	struct debug_file debug = {.fd = -1};

	*s = (struct elf_symbols){0};
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return false;
	read_segments(s, elf);
	if (!add_table(elf, SHT_SYMTAB, &c) &&
	    !(path && debug_file_open(&debug, elf, path) && add_table(debug.elf, SHT_SYMTAB, &c)))
		add_table(elf, SHT_DYNSYM, &c);
	add_plt(elf, &c);
	settle(s, &c);
	free(c.list);
	debug_file_close(&debug);
	return true;
}

bool elf_symbols_read(struct elf_symbols *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf;
	bool ok;

	*s = (struct elf_symbols){0};
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	ok = read_elf(s, elf, path);
	elf_end(elf);
	close(fd);
	return ok;
}

bool elf_symbols_image(struct elf_symbols *s, char *image, size_t size)
{
	Elf *elf;
	bool ok;

	elf_version(EV_CURRENT);
	elf = elf_memory(image, size);
	ok = read_elf(s, elf, NULL);
	elf_end(elf);
	return ok;
}

bool elf_symbols_address(const struct elf_symbols *s, u64 offset, u64 *address)
{
	for (size_t i = 0; i < s->segments; i++) {
		const struct elf_segment *g = &s->segment[i];

		if (offset >= g->offset && offset - g->offset < g->size) {
			*address = g->address + (offset - g->offset);
			return true;
		}
	}
	return false;
}

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, u64 address)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->symbol[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low && address < s->symbol[low - 1].end ? &s->symbol[low - 1] : NULL;
}

void elf_symbols_free(struct elf_symbols *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->symbol[i].name);
	free(s->symbol);
	free(s->segment);
	*s = (struct elf_symbols){0};
}
