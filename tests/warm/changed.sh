# What changed is not taken from an image: libraries and programs with the same path, size and time but new content,
# pages that a program wrote to.
source "$ROOT/tests/warm/warm_functions.bash"
CC=${CC:-cc}
library() { # value: a library whose function returns that, always of the same size
	printf 'int value(void) { int v = 0; for (int i = 0; i < %d; i++) v++; return v; }\n' $1 > lib.c
	$CC -O0 -shared -fPIC -Wl,--build-id=none -o $2 lib.c || fail "cc"
}
printf '#include <stdio.h>\nint value(void);\nint main(void) { printf("%%d\\n", value()); }\n' > main.c
library 1001 libv.so; library 1001 one.so; library 2002 two.so; library 3003 three.so
[ $(stat -c %s one.so) = $(stat -c %s two.so) ] || fail "the libraries differ in size"
$CC -o main main.c ./libv.so || fail "cc"
printf 'for i in $(seq 300); do cmp -s /dev/null /dev/zero; done\n' > busy.sh

check() { # expected, what
	local got=$(warm ./main)
	[ "$got" = "$1" ] || fail "$2: $got, expected $1"
	got=$(warm ./main)
	[ "$got" = "$1" ] || fail "$2, again: $got, expected $1"
}
settle
check 1001 "at first"; check 1001 "warm"
[ "$(used ./main)" = 1 ] || fail "the program had no image"
touch -r libv.so time
cp two.so libv.so; touch -r time libv.so # in place, same inode, size and mtime
check 2002 "written in place"
settle; check 2002 "written in place, settled"
cp three.so new.so; touch -r time new.so; mv new.so libv.so
check 3003 "renamed"
settle; check 3003 "renamed, settled"
# Again and again at once: times may be the same, since clocks tick.
for i in $(seq 30); do
	cp one.so libv.so; check 1001 "quickly $i"
	cp two.so libv.so; check 2002 "quickly $i"
done

# The program itself.
printf '#include <stdio.h>\nint main(void) { puts("old"); }\n' > p.c; $CC -o p p.c
settle; for i in 1 2; do [ "$(warm ./p)" = old ] || fail "p"; done
sed s/old/new/ p.c > q.c; $CC -o q q.c; touch -r p time; cp q p; touch -r time p
for i in 1 2; do [ "$(warm ./p)" = new ] || fail "p is the old one"; done

# Code that a program changes before it runs: by mprotect and a store, and through /proc/self/mem, which needs no
# permission. What others take from its image is
# the file's.
cat > patch.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline, aligned(4096))) int value(void) { return 0x11111111; }
__attribute__((aligned(4096))) int other(void) { return 5; }
int main(int argc, char **argv)
{
	unsigned char *p = (unsigned char *)value;
	unsigned four = 0x22222222;

	while (memcmp(p, "\x11\x11\x11\x11", 4))
		p++;
	if (argc > 1 && argv[1][0] == 'm') {
		mprotect((void *)value, 4096, PROT_READ | PROT_WRITE);
		memcpy(p, &four, 4);
		mprotect((void *)value, 4096, PROT_READ | PROT_EXEC);
	} else if (argc > 1) {
		int fd = open("/proc/self/mem", O_RDWR);
		if (pwrite(fd, &four, 4, (long)p) != 4)
			return 77;
	}
	printf("%x\n", value() + other());
	return 0;
}
END
$CC -O0 -o patch patch.c
settle
for how in m p; do
	rm -rf "$cache"
	for i in 1 2; do [ "$(warm ./patch $how)" = 22222227 ] || fail "patch $how"; done
	for i in 1 2; do [ "$(warm ./patch)" = 11111116 ] || fail "the patched code was kept"; done
	for i in 1 2; do [ "$(warm ./patch $how)" = 22222227 ] || fail "patch $how, warm"; done
	# The other way round: the image has what the program changes before it would have translated it.
	rm -rf "$cache"
	for i in 1 2; do [ "$(warm ./patch)" = 11111116 ] || fail "patch"; done
	[ "$(used ./patch)" = 1 ] || fail "patch had no image"
	for i in 1 2; do [ "$(warm ./patch $how)" = 22222227 ] || fail "patch $how: not what was written"; done
	[ "$(warm ./patch)" = 11111116 ] || fail "the patched code was kept"
	[ "$(used ./patch)" = 1 ] || fail "patch has no image any more"
done
exit 0
