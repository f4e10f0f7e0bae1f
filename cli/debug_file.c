/* See debug_file.h. */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "abi/types.h"
#include "cli/debug_file.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define CHUNK	   65536

struct build_id {
	size_t size;
	unsigned char byte[64];
};

static Elf_Data *section_data(Elf *elf, GElf_Word type, const char *name, GElf_Shdr *h, Elf_Scn **at)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((*at = elf_nextscn(elf, *at))) {
		const char *its;

		if (!gelf_getshdr(*at, h) || (type && h->sh_type != type))
			continue;
		its = name ? elf_strptr(elf, strings, h->sh_name) : NULL;
		if (!name || (its && !strcmp(its, name)))
			return elf_getdata(*at, NULL);
	}
	return NULL;
}

static bool read_build_id(Elf *elf, struct build_id *id)
{
	Elf_Scn *at = NULL;
	GElf_Shdr h;

	for (Elf_Data *data; (data = section_data(elf, SHT_NOTE, NULL, &h, &at));) {
		size_t name, desc, next = 0;
		GElf_Nhdr note;

		while ((next = gelf_getnote(data, next, &note, &name, &desc)))
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= sizeof(id->byte) &&
			    note.n_descsz > 1 && !memcmp((char *)data->d_buf + name, "GNU", 4)) {
				id->size = note.n_descsz;
				memcpy(id->byte, (char *)data->d_buf + desc, id->size);
				return true;
			}
	}
	return false;
}

static bool has_symbols(Elf *elf)
{
	Elf_Scn *at = NULL;
	GElf_Shdr h;

	return elf && elf_kind(elf) == ELF_K_ELF && section_data(elf, SHT_SYMTAB, NULL, &h, &at);
}

static bool try_file(struct debug_file *d, const char *path)
{
	d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (d->fd < 0)
		return false;
	d->elf = elf_begin(d->fd, ELF_C_READ_MMAP, NULL);
	if (has_symbols(d->elf))
		return true;
	debug_file_close(d);
	return false;
}

static bool open_by_id(struct debug_file *d, Elf *of)
{
	struct build_id id, its;
	char path[sizeof(DEBUG_ROOT "/.build-id/xx/.debug") + 2 * sizeof(id.byte)];
	int n;

	if (!read_build_id(of, &id))
		return false;
	n = snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", id.byte[0]);
	for (size_t i = 1; i < id.size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", id.byte[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	if (!try_file(d, path))
		return false;
	if (read_build_id(d->elf, &its) && its.size == id.size && !memcmp(its.byte, id.byte, id.size))
		return true;
	debug_file_close(d);
	return false;
}

static bool has_checksum(int fd, u32 want)
{
	static unsigned char chunk[CHUNK];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;

	for (ssize_t n; (n = pread(fd, chunk, sizeof(chunk), at)) > 0; at += n)
		sum = crc32(sum, chunk, (uInt)n);
	return (u32)sum == want;
}

static bool open_by_link(struct debug_file *d, Elf *of, const char *path)
{
	static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s"};
	Elf_Scn *at = NULL;
	GElf_Shdr h;
	Elf_Data *data = section_data(of, SHT_PROGBITS, ".gnu_debuglink", &h, &at);
	const char *name = data ? data->d_buf : NULL, *slash = strrchr(path, '/');
	size_t len = name ? strnlen(name, data->d_size) : 0, sum_at = (len + 4) & ~3ul;
	u32 sum;

	if (!len || !slash || memchr(name, '/', len) || sum_at + sizeof(sum) > data->d_size)
		return false;
	memcpy(&sum, name + sum_at, sizeof(sum));
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char file[PATH_MAX];
		int n = snprintf(file, sizeof(file), forms[i], (int)(slash - path), path, name);

		if (n >= (int)sizeof(file) || !try_file(d, file))
			continue;
		if (has_checksum(d->fd, sum))
			return true;
		debug_file_close(d);
	}
	return false;
}

bool debug_file_open(struct debug_file *d, Elf *of, const char *path)
{
	*d = (struct debug_file){.fd = -1};
	return open_by_id(d, of) || open_by_link(d, of, path);
}

void debug_file_close(struct debug_file *d)
{
	if (d->fd < 0)
		return;
	elf_end(d->elf);
	close(d->fd);
	*d = (struct debug_file){.fd = -1};
}
