/* What the kernel hands to a program: auxiliary vector, stack layout, program headers, thread pointer, descriptors. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
extern char etext;
int main(int argc, char **argv);

static int each(struct dl_phdr_info *info, size_t size, void *data)
{
	++*(int *)data;
	return 0;
}

int main(int argc, char **argv)
{
	ElfW(auxv_t) *a;
	char **e = environ, *last;
	int objects = 0, fd;

	while (*e)
		e++;
	for (a = (ElfW(auxv_t) *)(e + 1); a->a_type; a++) {
		switch (a->a_type) {
		case AT_PAGESZ: case AT_PHENT: case AT_PHNUM: case AT_UID: case AT_GID: case AT_SECURE: case AT_CLKTCK:
		case AT_HWCAP: case AT_HWCAP2: case AT_FLAGS: case AT_MINSIGSTKSZ: case 27: case 28:
			printf("%lu = %lx\n", a->a_type, a->a_un.a_val);
			break;
		case AT_EXECFN: case AT_PLATFORM:
			printf("%lu = %s\n", a->a_type, strrchr((char *)a->a_un.a_val, '/') ?
				strrchr((char *)a->a_un.a_val, '/') : (char *)a->a_un.a_val);
			break;
		default:
			printf("%lu %s\n", a->a_type, a->a_un.a_val ? "set" : "0");
		}
	}
	last = (char *)getauxval(AT_EXECFN);
	printf("order %d %d %d\n", (char *)argv > (char *)&fd, argv[0] > (char *)a, last > argv[0]);
	printf("argc on the stack %ld, aligned %lu\n", ((long *)argv)[-1], (unsigned long)(argv - 1) & 15);
	printf("above the file name: %lx\n", *(unsigned long *)((((unsigned long)last + strlen(last) + 1 + 7) & ~7ul)));
	printf("page offset of the end %lx\n", ((unsigned long)last + strlen(last) + 1 + 8) & 4095);
	dl_iterate_phdr(each, &objects);
	printf("objects %d\n", objects);
	fd = open("/dev/null", O_RDONLY);
	printf("first descriptor %d\n", fd);
	printf("entry in text %d\n", getauxval(AT_ENTRY) < (unsigned long)&etext);
	printf("end of page zero: %d\n", *(char *)(((unsigned long)sbrk(0) - 1) | 0));
	return 0;
}
