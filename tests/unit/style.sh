#!/bin/sh
# tools/check-style finds nothing, and the check itself notices what it is for.
set -eu
cd "$ROOT"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "no git repository: the files are not known"; exit 77; }
tools/check-style

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/tools" "$copy/rt" "$copy/doc"
cp tools/check-style "$copy/tools"
git -C "$copy" init -q

# refused WHAT [FILE]: the tree does not pass, for that reason.
refused()
{
	if "$copy/tools/check-style" >"$copy/said" || ! grep -q "^${2:-rt/a.c}:.*$1" "$copy/said"; then
		echo "check-style let pass: $1"
		cat "$copy/said"
		exit 1
	fi
}

printf 'int a_b(void);\n/* As a_b(), but for a_c(). */\n' >"$copy/rt/a.c"
refused 'names a_c(), which is not there'
printf '/* The kernel of Linux has an a_c(). */\nint a_c;\n' >"$copy/rt/a.c"
refused 'names a_c(), which is not there'
printf 'int a_b(void);\n/* a_b() is as perf_copy_attr() of the kernel. */\n' >"$copy/rt/a.c"
printf 'See `a_c()`.\n' >"$copy/doc/a.md"
refused 'names a_c(), which is not there' doc/a.md
printf 'See `a_b()`.\n' >"$copy/doc/a.md"
"$copy/tools/check-style" >"$copy/said" || { cat "$copy/said"; exit 1; }
printf '/* The lock of p->a_d. */\nint a;\n' >"$copy/rt/a.c"
refused 'names a field a_d, which is not there'
printf '/* See rt/b.c. */\nint a;\n' >"$copy/rt/a.c"
refused 'names rt/b.c, which is not there'
rm "$copy/doc/a.md"
printf '\t\t\t\t\t\t\t\t\t\t\t\t\t\t\tint a;\n' >"$copy/rt/a.c"
refused 'wider than 120 columns'
yes 'int a;' | head -501 >"$copy/rt/a.c"
refused '501 lines'
