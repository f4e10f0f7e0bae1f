#!/bin/bash
# A command with the runtime of another build: one line says so, and nothing runs.
set -u
built=$(dirname "$(readlink -f "$PCL")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
id=$(sed -n 's/^#define BUILD_ID 0x\([0-9a-f]*\)ul$/\1/p' "$built/gen/build_id.h" 2>/dev/null)
[ -n "$id" ] || { echo "not beside what it was built from"; exit 77; }
cp "$built/pcl" "$dir/"
# The other build: the same one with another number.
/usr/bin/env python3 -B - "$built/pclrt" "$dir/pclrt" "$id" <<'PY' || exit 1
import sys
code = open(sys.argv[1], "rb").read()
number = int(sys.argv[3], 16).to_bytes(8, "little")
if number not in code:
    sys.exit("the runtime does not have the number of its build")
open(sys.argv[2], "wb").write(code.replace(number, b"\x11" * 8))
PY
chmod +x "$dir/pclrt"
got=$("$dir/pcl" echo it runs 2>&1 | sed "s/^pcl\[[0-9]*\]/pcl/")
"$dir/pcl" true 2>/dev/null
status=$?
id=$(printf %x "0x$id")
want="pcl: the runtime (pclrt) is of build 1111111111111111, the command of $id: both must be of one build"
[ "$got" = "$want" ] || { printf 'got  "%s"\nwant "%s"\n' "$got" "$want"; exit 1; }
[ $status = 125 ] || { echo "status $status"; exit 1; }
# The one that it was built with.
cp "$built/pclrt" "$dir/"
[ "$("$dir/pcl" echo it runs 2>&1)" = "it runs" ] || { echo "its own runtime is refused"; exit 1; }
# Nobody's: run by hand.
got=$("$dir/pclrt" 2>&1)
case $got in *"started by pcl only"*) ;; *) echo "by hand: $got"; exit 1 ;; esac
exit 0
