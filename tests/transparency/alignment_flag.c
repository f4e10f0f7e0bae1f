/*
 * Code in shared memory that others might change, with the flag AC set: it may begin at any address and be of any
 * length, and only the program's own unaligned accesses raise SIGBUS.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define AC "0x40000"

typedef long code_fn(long n, void *data);

static sigjmp_buf env;

static void on_bus(int sig)
{
	/* The kernel leaves the flag to handlers. */
	__asm__ volatile("sub $256, %%rsp\n\tpushfq\n\tandl $~" AC ", (%%rsp)\n\tpopfq\n\tadd $256, %%rsp" ::: "cc");
	siglongjmp(env, sig);
}

static long with_ac(code_fn *fn, long n, void *data)
{
	long ret;

	__asm__ volatile("mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\t"
			 "pushfq\n\torl $" AC ", (%%rsp)\n\tpopfq\n\tcall *%[fn]\n\t"
			 "pushfq\n\tandl $~" AC ", (%%rsp)\n\tpopfq\n\tmov %%rbx, %%rsp"
			 : "=a"(ret), "+D"(n), "+S"(data)
			 : [fn] "r"(fn)
			 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return ret;
}

/* A loop of so many bytes: xor %eax, %eax; 1: add %edi, %eax; nop...; dec %edi; jnz 1b; mov (%rsi), %edx; ret */
static void write_loop(unsigned char *at, int nops)
{
	static const unsigned char head[] = {0x31, 0xc0, 0x01, 0xf8}, tail[] = {0xff, 0xcf, 0x75},
				   end[] = {0x8b, 0x16, 0xc3};
	unsigned char *p = at;

	memcpy(p, head, sizeof(head));
	p += sizeof(head);
	memset(p, 0x90, (size_t)nops);
	p += nops;
	memcpy(p, tail, sizeof(tail));
	p += sizeof(tail);
	*p = (unsigned char)(at + 2 - (p + 1));
	memcpy(p + 1, end, sizeof(end));
}

int main(void)
{
	static int data[4];
	static int good, nops; /* longjmp keeps them */
	int fd = memfd_create("code", 0);
	unsigned char *write, *run;

	ftruncate(fd, 0x10000);
	write = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	run = mmap(NULL, 0x10000, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	signal(SIGBUS, on_bus);
	for (int at = 0; at < 16; at++)
		for (nops = 0; nops < 20; nops++) {
			write_loop(write + 64 * nops + at, nops);
			if (sigsetjmp(env, 1))
				printf("SIGBUS at %d with %d nops\n", at, nops);
			else
				good += with_ac((code_fn *)(run + 64 * nops + at), 10, data) == 55;
		}
	printf("%d are good\n", good);
	if (sigsetjmp(env, 1))
		printf("SIGBUS\n");
	else
		printf("unaligned: %ld\n", with_ac((code_fn *)(run + 15), 3, (char *)data + 1));
	return 0;
}
