/* Programs with headers that linkers do not write: which of them Linux executes. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE 0x10000000ul
#define CODE 0x1000ul
#define SIZE 0x3000ul

/* exit(edi), where the last segment's zeros were added to 7 */
static const unsigned char code[] = {
	0x0f, 0xb6, 0x3c, 0x25, 0x00, 0x28, 0x00, 0x10, /* movzbl BASE + 0x2800, %edi */
	0x83, 0xc7, 0x07,				/* add $7, %edi */
	0xb8, 60, 0,	0,    0,			/* mov $60, %eax */
	0x0f, 0x05,					/* syscall */
};

static struct {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
} file;

static void begin(void)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.head.e_ident, ELFMAG, SELFMAG);
	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.head.e_ident[EI_DATA] = ELFDATA2LSB;
	file.head.e_ident[EI_VERSION] = EV_CURRENT;
	file.head.e_type = ET_EXEC;
	file.head.e_machine = EM_X86_64;
	file.head.e_version = EV_CURRENT;
	file.head.e_entry = BASE + CODE;
	file.head.e_phoff = sizeof(file.head);
	file.head.e_ehsize = sizeof(file.head);
	file.head.e_phentsize = sizeof(Elf64_Phdr);
	file.head.e_phnum = 2;
	file.segment[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, BASE, BASE, SIZE, SIZE, 0x1000};
	file.segment[1] =
		(Elf64_Phdr){PT_LOAD, PF_R | PF_W, 0x2000, BASE + 0x2000, BASE + 0x2000, 0x800, 0x1000, 0x1000};
}

static void execute(const char *what)
{
	int fd = open("odd", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700), status, error = 0, ends[2];
	char bytes[SIZE];
	pid_t pid;

	memset(bytes, 5, sizeof(bytes));
	memcpy(bytes, &file, sizeof(file));
	memcpy(bytes + CODE, code, sizeof(code));
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || pipe2(ends, O_CLOEXEC))
		_exit(2);
	close(fd);
	pid = fork();
	if (!pid) {
		execl("odd", "odd", NULL);
		error = errno;
		_exit(write(ends[1], &error, sizeof(error)) != sizeof(error));
	}
	close(ends[1]);
	if (read(ends[0], &error, sizeof(error)) == sizeof(error))
		printf("%s: %s\n", what, strerror(error));
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (!error)
		printf("%s: status %x\n", what, status);
	unlink("odd");
}

int main(void)
{
	char scratch[] = "/tmp/elf_headers.XXXXXX";

	if (!mkdtemp(scratch) || chdir(scratch))
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	begin();
	execute("as linkers do");
	file.head.e_ident[EI_CLASS] = ELFCLASSNONE;
	execute("no class");
	file.head.e_ident[EI_CLASS] = ELFCLASS32;
	execute("the wrong class");
	begin();
	file.segment[0].p_memsz = 0x100000;
	execute("zeros of the first segment around the second");
	file.segment[1].p_memsz = 0x4000;
	execute("and zeros of the second within");
	file.segment[1].p_memsz = 0x200000;
	execute("and beyond");
	begin();
	file.head.e_phentsize = 32;
	execute("program headers of a wrong size");
	begin();
	file.head.e_phnum = 0;
	execute("no program headers");
	begin();
	file.segment[1].p_vaddr += 0x10;
	execute("an offset that does not fit the address");
	return rmdir(scratch) != 0;
}
