# Code of libraries is kept, also of one whose code is its first segment (as gold and older linkers lay them out: it is
# mapped whole, as code, and then its data over the end), and when there are as many of them as ffmpeg has.
source "$ROOT/tests/warm/warm_functions.bash"
CC=${CC:-cc}
{
	for i in $(seq 300); do echo "int f$i(int n) { return n % 3 ? n + $i : n - $i; }"; done
	echo 'int data[5000] = {1};'
	echo 'int value(int n) {'
	for i in $(seq 300); do echo "	n = f$i(n);"; done
	echo '	return n + data[n & 1]; }'
} > lib.c
cat > main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);
		int (*value)(int) = lib ? (int (*)(int))dlsym(lib, "value") : NULL;

		if (!value)
			return 1;
		sum += value(i);
	}
	printf("%d\n", sum);
	return 0;
}
END
$CC -O1 -o main main.c -ldl || fail "cc"
$CC -O1 -fno-inline -shared -fPIC -Wl,-z,separate-code -o apart.so lib.c || fail "cc"
$CC -O1 -fno-inline -shared -fPIC -Wl,-z,noseparate-code -o whole.so lib.c || fail "cc"
readelf -lW whole.so | grep LOAD | head -n 1 | grep -q 'R E' || fail "its first segment is not code"
mkdir many && for i in $(seq 200); do cp apart.so many/$i.so; done
settle
blocks() {
	warm --stats "$@" 2>&1 >/dev/null | sed -n 's/^ *\([0-9]*\)  blocks translated.*/\1/p' | grep . || echo 0
}
check() { # program, libraries
	local want first again
	rm -rf "$cache" # a library may lie where an image has it from before
	want=$("$@")
	[ "$(cold "$@")" = "$want" ] || fail "$2: cold"
	first=$(blocks "$@")
	again=$(blocks "$@")
	[ $again -lt $((first / 10)) ] || fail "$2: $again blocks, at first $first"
	[ "$(warm "$@")" = "$want" ] || fail "$2: warm"
}
check ./main ./apart.so
check ./main ./whole.so
check ./main ./whole.so ./apart.so
check ./main ./many/*.so
exit 0
