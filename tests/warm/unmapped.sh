# Code of an image that the program has not mapped this time is not executed: jumping there is a fault, and what lies
# there
# instead is what runs.
source "$ROOT/tests/warm/warm_functions.bash"
CC=${CC:-cc}
cat > lib.c <<'END'
int inner(int n) { return n + 1; }
int value(void) { int v = 0; for (int i = 0; i < 1000; i++) v = inner(v); return v; }
END
cat > main.c <<'END'
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static sigjmp_buf back;
static void on_fault(int signo) { siglongjmp(back, signo); }

int main(int argc, char **argv)
{
	static const unsigned char other[] = {0xb8, 7, 0, 0, 0, 0xc3}; /* mov $7, %eax; ret */
	int (*value)(void);
	volatile int times = 3;

	if (argc == 2) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		value = (int (*)(void))dlsym(lib, "value");
		fprintf(stderr, "%p\n", (void *)value);
	} else {
		char *page = (char *)(strtoul(argv[2], NULL, 16) & ~0xffful);
		value = (int (*)(void))strtoul(argv[2], NULL, 16);
		signal(SIGSEGV, on_fault);
		if (argv[1][0] == 'm') {
			int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
			page = mmap(page, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			if (page == MAP_FAILED)
				return 77;
			memcpy((void *)value, other, sizeof(other));
		}
	}
	while (times--) {
		int signo = sigsetjmp(back, 1);
		if (signo)
			printf("signal %d\n", signo);
		else
			printf("%d\n", value());
	}
	return 0;
}
END
$CC -O1 -fno-inline -shared -fPIC -o lib.so lib.c && $CC -O1 -o main main.c -ldl || fail "cc"
settle
is() { # expected, arguments
	[ "$(warm ./main "${@:2}" 2> address | sort -u)" = "$1" ] || fail "${*:2}: not $1"
}
for i in 1 2; do is 1000 ./lib.so; done
at=$(cat address)
for i in 1 2; do is "signal 11" jump $at; is 7 map $at; is 1000 ./lib.so; done
[ "$at" = "$(cat address)" ] || fail "addresses do not repeat"
[ "$(used ./main ./lib.so)" = 1 ] || fail "no image was used"
exit 0
