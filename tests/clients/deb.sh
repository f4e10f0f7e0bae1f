#!/bin/bash
# The Debian package: made by Debian's tools, nothing to say for lintian, and what is in it works.
set -u
command -v dh >/dev/null && command -v dpkg-buildpackage >/dev/null || { echo "no debhelper"; exit 77; }
status=0
fail() { echo "$*"; status=1; }
mode=${BUILD##*/}
[ "$mode" = rel ] || { echo "only what is released is packaged"; exit 77; }
unset MAKEFLAGS MAKELEVEL
make --no-print-directory -s -C "$ROOT" deb >made 2>&1 || { tail -n 20 made; exit 1; }
package=$(echo "$BUILD"/deb/pcl_*_amd64.deb)
[ "$(dpkg-deb -f "$package" Version)" = "$(cat "$ROOT/VERSION")" ] || fail "version $(dpkg-deb -f "$package" Version)"
[ -z "$(dpkg-deb -f "$package" Depends)" ] || fail "depends on $(dpkg-deb -f "$package" Depends)"
dpkg-deb -x "$package" root || fail "cannot be unpacked"
root/usr/bin/pcl count --csv -o csv -e instructions -- true || fail "pcl count: $?"
[ "$(awk -F, '$1 == "instructions" { print $5 }' csv)" -gt 10000 ] || fail "counts: $(cat csv)"
for file in share/man/man1/pcl.1.gz share/man/man7/pcl-events.7.gz share/doc/pcl/changelog.gz \
	share/zsh/vendor-completions/_pcl; do
	[ -s root/usr/$file ] || fail "no $file"
done
if command -v lintian >/dev/null; then
	lintian --fail-on error,warning "${package%_amd64.deb}"_amd64.changes >said 2>&1 ||
		{ fail "lintian:"; cat said; }
fi
exit $status
