#!/bin/sh
# The runtime without any architecture's folder lacks only what doc/porting.md lists. tests/unit/skeleton/ has the
# headers, which say nothing.
set -eu
cd "$ROOT"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "no git repository: the files are not known"; exit 77; }
make -s ARCH=none MODE=dbg objects
tools/check-port build/none-dbg/objects.o

# The check notices what is not in the list, and what is there in vain.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/tools" "$copy/doc" "$copy/isa" && cp tools/check-port "$copy/tools" && git init -q "$copy"
sed 's/`isa_decode()`/`isa_decoder()`/' doc/porting.md >"$copy/doc/porting.md"
"$copy/tools/check-port" build/none-dbg/objects.o >"$copy/out" && exit 1
grep -q 'does not list the function isa_decode$' "$copy/out"
grep -q 'lists the function isa_decoder, which nothing needs$' "$copy/out"
