# A program that has no image begins with what the dynamic linker did for another one: also one that was built just now.
# Counts are the same. Another dynamic linker by the same name is noticed, and gets an image in its turn.
source "$ROOT/tests/warm/warm_functions.bash"
CC=${CC:-cc}
interpreter=$(readelf -lW /bin/sh | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
[ -n "$interpreter" ] || { echo "SKIP: /bin/sh has no dynamic linker"; exit 77; }
cp -L "$interpreter" ld.so || fail "cp"
for i in 1 2 3 4 5 6; do
	printf '#include <stdio.h>\nint main(void) { printf("%%d\\n", %d); return 0; }\n' $i > p.c
	$CC -O1 -Wl,--dynamic-linker=$PWD/ld.so -o p$i p.c || fail "cc"
done
blocks() {
	[ "$(warm --stats ./$1 2>stats)" = ${1#p} ] || fail "$1: $(cat stats)"
	sed -n 's/^ *\([0-9]*\)  blocks translated.*/\1/p' stats | grep . || echo 0
}
settle
all=$(blocks p1)
grep -q '  2  images of translations written' stats || fail "the first writes one for others: $(cat stats)"
[ $all -gt 1000 ] || fail "$all blocks"
[ $(blocks p1) -lt $((all / 10)) ] || fail "the first has none"
few=$(blocks p2)
[ $few -lt $((all / 3)) ] || fail "$few blocks for another program, $all for the first"
touch p3
few=$(blocks p3)
[ $few -lt $((all / 3)) ] || fail "$few blocks for a new program, $all for the first"
for mode in "" "-k"; do # an image is of code that counts the same
	cold "$COUNTED" $mode -o cold ./p1 > /dev/null && warm "$COUNTED" $mode -o first ./p1 > /dev/null &&
		warm "$COUNTED" $mode -o warm1 ./p1 > /dev/null && warm "$COUNTED" $mode -o warm2 ./p2 > /dev/null &&
		cold "$COUNTED" $mode -o cold2 ./p2 > /dev/null || fail "counted $mode"
	cmp cold first && cmp cold warm1 && cmp cold2 warm2 || fail "counts $mode: $(paste cold first warm1 cold2 warm2)"
done

# The same size, other nops between its functions.
perl -0777 -pe 's/\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00/\x0f\x1f\x84\x00\x00\x00\x00\x00\x66\x90/g' ld.so > new
cmp -s ld.so new && fail "nothing was changed"
chmod 755 new; mv new ld.so; settle
cold "$COUNTED" -o cold ./p4 > /dev/null && warm "$COUNTED" -o changed ./p4 > /dev/null && cmp cold changed ||
	fail "counts with another dynamic linker: $(paste cold changed)"
for i in 1 2 3; do few=$(blocks p5); done
few=$(blocks p6)
[ $few -lt $((all / 3)) ] || fail "$few blocks, $all for the first: the new dynamic linker has no image"

# What a library does before the program begins may be more than all that the dynamic linker does: not for others.
{
	for i in $(seq 5000); do echo "int f$i(int n) { return n + $i; }"; done
	echo 'int sum; __attribute__((constructor)) static void add_up(void) {'
	for i in $(seq 5000); do echo "	sum = f$i(sum);"; done
	echo '}'
} > lib.c
printf '#include <stdio.h>\nextern int sum;\nint main(void) { puts(sum ? "7" : "0"); return 0; }\n' > p.c
$CC -O0 -shared -fPIC -o lib.so lib.c && $CC -o p7 p.c ./lib.so && rm -rf cache && settle || fail "cc"
all=$(blocks p7)
[ $all -gt 5000 ] || fail "$all blocks of a library"
grep -q '  1  images of translations written' stats || fail "others are to begin with it: $(cat stats)"
exit 0
