/*
 * Finding the program to run; see find.h.
 *
 * The checks are the ones of execve(2) that can be made beforehand, so that the usual mistakes are answered before the
 * runtime starts. What it finds out later it reports itself.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/find.h"
#include "rt/layout.h"

#define DEFAULT_PATH   "/bin:/usr/bin" /* of glibc's execvp when PATH is not set */
#define NOT_EXECUTABLE 126

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISDIR(st.st_mode);
}

/* An ELF file of 32 bits, which the kernel would execute. */
static bool is_32_bit(const char *path)
{
	unsigned char head[EI_NIDENT] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof(head));

	if (fd >= 0)
		close(fd);
	return n == sizeof(head) && !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] == ELFCLASS32;
}

/* Linked at fixed addresses, of which some are pcl's. */
static bool is_where_pcl_is(const char *path)
{
	Elf64_Ehdr head = {0};
	Elf64_Phdr part;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found = false;

	if (fd < 0)
		return false;
	if (read(fd, &head, sizeof(head)) == sizeof(head) && !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
	    head.e_type == ET_EXEC)
		for (int i = 0; i < head.e_phnum && !found; i++)
			found = pread(fd, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) ==
					sizeof(part) &&
				part.p_type == PT_LOAD && part.p_vaddr < LAYOUT_END &&
				part.p_vaddr + part.p_memsz > LAYOUT_BASE;
	close(fd);
	return found;
}

int find_report(const char *path, int err)
{
	struct stat st;

	if (err == ENOENT && !stat(path, &st)) {
		fprintf(stderr, "pcl: %s: cannot execute: required file not found\n", path);
		return FIND_NOT_FOUND;
	}
	if (err == ENOEXEC && is_32_bit(path))
		fprintf(stderr, "pcl: %s: cannot execute binary file: pcl runs no 32-bit programs\n", path);
	else if (err == ENOEXEC && is_where_pcl_is(path))
		fprintf(stderr,
			"pcl: %s: cannot execute binary file: it is linked at addresses that pcl needs for itself\n",
			path);
	else if (err == ENOEXEC)
		fprintf(stderr, "pcl: %s: cannot execute binary file: Exec format error\n", path);
	else if (err == EACCES && is_directory(path))
		fprintf(stderr, "pcl: %s: Is a directory\n", path);
	else
		fprintf(stderr, "pcl: %s: %s\n", path, strerror(err));
	return err == ENOENT ? FIND_NOT_FOUND : NOT_EXECUTABLE;
}

/* The error that execve would give for what the file is, 0 if none is known. */
static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

/* Text, as bash and execvp's caller see it: no NUL byte in the first line's worth of bytes. */
static bool is_text(const char *bytes, ssize_t n)
{
	const char *line_end = memchr(bytes, '\n', (size_t)n);

	return !memchr(bytes, 0, line_end ? (size_t)(line_end - bytes) : (size_t)n);
}

/* #! line: the interpreter has to exist; whether its own format is good the runtime finds out. */
static int check_script(char *line)
{
	char *name = line + 2 + strspn(line + 2, " \t");

	name[strcspn(name, " \t\n")] = 0;
	return *name ? check_file(name) : ENOEXEC;
}

/* The program is for this processor and its dynamic linker, if it names one, exists. */
static int check_elf(int fd, const Elf64_Ehdr *elf)
{
	if (elf->e_machine != EM_X86_64 || (elf->e_type != ET_EXEC && elf->e_type != ET_DYN) ||
	    elf->e_phentsize != sizeof(Elf64_Phdr))
		return ENOEXEC;
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		char name[256] = {0};
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(elf->e_phoff + i * sizeof(ph))) != sizeof(ph))
			return ENOEXEC;
		if (ph.p_type != PT_INTERP || ph.p_filesz >= sizeof(name))
			continue;
		if (pread(fd, name, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
			return ENOEXEC;
		return check_file(name);
	}
	return 0;
}

/* Looks at the first bytes. A file that may be executed but not read is left to the runtime. Returns 0 or an errno. */
static int check_format(const char *path, bool *by_shell)
{
	union {
		char bytes[256];
		Elf64_Ehdr elf;
	} head = {.bytes = {0}};
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = ENOEXEC;
	ssize_t n = fd < 0 ? -1 : read(fd, head.bytes, sizeof(head.bytes) - 1);

	*by_shell = false;
	if (n < 0)
		err = 0;
	else if (n >= 2 && !memcmp(head.bytes, "#!", 2))
		err = check_script(head.bytes);
	else if (n >= (ssize_t)sizeof(head.elf) && !memcmp(head.bytes, ELFMAG, SELFMAG))
		err = check_elf(fd, &head.elf);
	else if (n < SELFMAG || memcmp(head.bytes, ELFMAG, SELFMAG))
		*by_shell = is_text(head.bytes, n);
	if (fd >= 0)
		close(fd);
	return *by_shell ? 0 : err;
}

static int accept_path(const char *path, struct program *out)
{
	int err = check_format(path, &out->by_shell);

	if (path != out->path && snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path))
		err = ENAMETOOLONG;
	return err ? find_report(path, err) : 0;
}

static bool goes_on(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ESTALE || err == ENODEV || err == ETIMEDOUT;
}

int find_program(const char *name, struct program *out)
{
	const char *dir = getenv("PATH"), *end;
	static char denied[sizeof(out->path)];
	int err;

	if (strchr(name, '/')) {
		err = check_file(name);
		return err ? find_report(name, err) : accept_path(name, out);
	}
	dir = dir ? dir : DEFAULT_PATH;
	for (; *name; dir = end + 1) {
		int len;

		end = strchrnul(dir, ':');
		len = snprintf(out->path, sizeof(out->path), "%.*s%s%s", (int)(end - dir), dir, end > dir ? "/" : "",
			       name);
		err = len < (int)sizeof(out->path) ? check_file(out->path) : ENOENT;
		if (!err)
			return accept_path(out->path, out);
		/* As bash: a file that may not be executed, not a directory that may not be searched. */
		if (err == EACCES && !*denied && is_file(out->path))
			memcpy(denied, out->path, sizeof(denied));
		if (!goes_on(err))
			return find_report(out->path, err);
		if (!*end)
			break;
	}
	if (*denied)
		return find_report(denied, EACCES);
	fprintf(stderr, "pcl: %s: command not found\n", name);
	return FIND_NOT_FOUND;
}

/* Where there is no /proc, as it was executed, without symbolic links. */
int find_self(struct program *out)
{
	_Static_assert(sizeof(out->path) >= PATH_MAX, "realpath(3) writes as much");
	ssize_t n = readlink("/proc/self/exe", out->path, sizeof(out->path) - 1);
	const char *name = (const char *)getauxval(AT_EXECFN);

	out->by_shell = false;
	if (n > 0) {
		out->path[n] = 0;
		return 0;
	}
	if (name && realpath(name, out->path))
		return 0;
	fprintf(stderr, "pcl: cannot find my own file\n");
	return -1;
}
