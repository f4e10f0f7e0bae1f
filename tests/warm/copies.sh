# A copy of a program and its libraries is served by the image of the files that it is a copy of, as on another machine
# that has the same packages. What is in the files decides, and not their names, times or inodes.
source "$ROOT/tests/warm/warm_functions.bash"
CC=${CC:-cc}
library() { # value, file: a library whose function returns that, always of the same size
	{
		for i in $(seq 300); do echo "int f$i(int n) { return n % 3 ? n + $i : n - $i; }"; done
		echo 'int value(void) { int n = 0;'
		for i in $(seq 300); do echo "	n = f$i(n);"; done
		echo "	return n * 0 + $1; }"
	} > lib.c
	$CC -O0 -shared -fPIC -Wl,--build-id=none -o $2 lib.c || fail "cc"
}
library 1001 one.so
library 2002 two.so
[ $(stat -c %s one.so) = $(stat -c %s two.so) ] || fail "the libraries differ in size"
cat > main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* What the library's function returns; then executes a command. */
int main(int argc, char **argv)
{
	void *lib = dlopen("./lib.so", RTLD_NOW);
	int (*value)(void) = lib ? (int (*)(void))dlsym(lib, "value") : NULL;

	if (!value)
		return 1;
	printf("%d\n", value());
	return argc > 1 ? system(argv[1]) : 0;
}
END
$CC -O1 -o main main.c -ldl || fail "cc"
cp one.so lib.so
settle
blocks() { # with what is in the directory
	warm --stats ./main 2>&1 >/dev/null | sed -n 's/^ *\([0-9]*\)  blocks translated.*/\1/p' | grep . || echo 0
}
copy() { cp $1 new && rm -f $2 && mv new $2; }

first=$(blocks)
again=$(blocks)
[ $again -lt $((first / 10)) ] || fail "$again blocks, at first $first"
copy main main; copy lib.so lib.so; settle
cp -a cache cache2; mv cache2 cache # the directory itself may be brought along
for i in $(seq 200); do # one run in some writes an image that names the files
	[ "$(warm --stats ./main 2>stats)" = 1001 ] || fail "a copy gives something else"
	grep -q '  1  programs that began with an image' stats || fail "a copy has no image"
	again=$(sed -n 's/^ *\([0-9]*\)  blocks translated.*/\1/p' stats)
	[ ${again:-0} -lt $((first / 10)) ] || fail "$again blocks for copies, at first $first"
	grep -q '  1  images of translations written' stats && break
done
[ $i -lt 200 ] || fail "nobody wrote an image with the files' names"
copy two.so lib.so; settle
[ "$(warm ./main)" = 2002 ] || fail "another library was taken for a copy"
[ "$(warm ./main)" = 2002 ] || fail "another library, again"

# A library that is written to while its code runs: what was translated is of a page that is no more. And the same by
# another file in its place. Each has a directory of images of its own.
for how in 'dd if=../two.so of=lib.so conv=notrunc status=none' 'cp ../two.so new; mv new lib.so'; do
	mkdir ${how%% *} && cp main ${how%% *} && cp one.so ${how%% *}/lib.so || fail "cp"
done
settle
for how in 'dd if=../two.so of=lib.so conv=notrunc status=none' 'cp ../two.so new; mv new lib.so'; do
	cache=$PWD/cache-${how%% *}
	[ "$(cd ${how%% *} && warm ./main "$how")" = 1001 ] || fail "a library that is changed: $how"
done
settle
for how in dd cp dd cp; do
	cache=$PWD/cache-$how
	[ "$(cd $how && warm ./main)" = 2002 ] || fail "a library that was changed by $how"
done
exit 0
