#!/bin/bash
# What make install, uninstall, tarball and deb put elsewhere works there: moved, without /proc, without perf; and is
# the same each time.
set -u
status=0
fail() { echo "$*"; status=1; }
mode=${BUILD##*/}
[ "$mode" = rel ] || { echo "only what is released is installed"; exit 77; }
make() { command make --no-print-directory -s -C "$ROOT" MODE="$mode" "$@" >>"$OLDPWD/made" 2>&1 ||
	{ fail "make $*"; tail -n 5 "$OLDPWD/made"; }; }
# works COMMAND...: that pcl counts.
works()
{
	"$@" count --csv -o - -e instructions -- true 2>err |
		awk -F, '$1 == "instructions" && $5 > 10000 { ok = 1 } END { exit !ok }' || fail "$*: $(cat err)"
}
unset MAKEFLAGS MAKELEVEL
mkdir away && cd away || exit 1

make install DESTDIR="$PWD/tree" PREFIX=/opt/pcl
for file in bin/pcl lib/pcl/pclrt include/pcl/session.h include/pcl/perf_2009.h share/man/man1/pcl.1 \
	share/man/man7/pcl-events.7 \
	share/doc/pcl/README.md share/doc/pcl/syscalls.md share/doc/pcl/examples/check-gbench \
	share/bash-completion/completions/pcl share/zsh/site-functions/_pcl share/fish/vendor_completions.d/pcl.fish; do
	[ -s "tree/opt/pcl/$file" ] || fail "$file is not installed"
done
mv tree/opt/pcl moved
works moved/bin/pcl
mkdir -p tree/opt && mv moved tree/opt/pcl
touch tree/opt/pcl/share/man/man1/other.1
make uninstall DESTDIR="$PWD/tree" PREFIX=/opt/pcl
[ "$(find tree -type f)" = tree/opt/pcl/share/man/man1/other.1 ] || fail "left: $(find tree -type f)"
[ ! -e tree/opt/pcl/lib/pcl ] && [ ! -e tree/opt/pcl/share/doc/pcl ] || fail "directories are left"

tarball=$(echo "$BUILD"/pcl-*-x86_64.tar.gz)
make tarball
tarball=$(echo "$BUILD"/pcl-*-x86_64.tar.gz)
cp "$tarball" first.tar.gz
touch "$ROOT/VERSION" # other times of files
make tarball
cmp first.tar.gz "$tarball" || fail "the second tarball differs"
tar xf first.tar.gz
works pcl-*/pcl
cd pcl-*/ && works ./pcl
cd ..
if unshare -rm true 2>/dev/null; then # no /proc, and nothing but what is in the tarball and one static program
	mkdir -p root/bin && cp pcl-*/pcl* "$BUILD/tests/count/hello_static" root/bin
	for name in /bin bin; do
		env -i /usr/bin/unshare -rm /usr/sbin/chroot root $name/pcl count -o /said -e instructions \
			-- $name/hello_static >out 2>&1 && grep -q '^hello 42' out &&
			grep -qE '[0-9,]+ +instructions +exact' root/said ||
				fail "$name/pcl in an empty root: $(cat out)"
		env -i /usr/bin/unshare -rm /usr/sbin/chroot root $name/pcl flame -o /svg -- $name/hello_static >out 2>&1
		grep -q '^pcl: there is no /proc, .* all functions are \[unknown\]$' out || fail "flame: $(cat out)"
	done
	mkdir root/links && ln -s ../bin/pcl root/links/pcl # its runtime is where the file is
	env -i /usr/bin/unshare -rm /usr/sbin/chroot root /links/pcl bin/hello_static >out 2>&1 ||
		fail "a link to pcl: $(cat out)"
fi
exit $status
