#!/bin/sh
# Rooms use only what they may use (tools/check-rooms), and the check itself notices what it is for.
set -eu
cd "$ROOT"
tools/check-rooms "$BUILD"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/tools" && cp tools/check-rooms "$copy/tools"

# refused FILE 'LINE': a tree with that line alone does not pass.
refused()
{
	rm -rf "$copy/event" "$copy/cli" "$copy/os" "$copy/perf"
	mkdir -p "$copy/$(dirname "$1")"
	echo "$2" >"$copy/$1"
	if "$copy/tools/check-rooms" >/dev/null; then
		echo "check-rooms let pass: $2 in $1"
		exit 1
	fi
}

refused event/a.c '#include "os/session/thread.h"'
refused event/a.c '#include <stdio.h>'
refused event/a.c '#include "ring.h"'
refused cli/a.c '#include "dbt/dbt.h"'
refused os/mm/a.c '#include "os/task/load.h"'
refused perf/a.c '#include "os/task/exec.h"'
refused os/other/a.c 'int a;'
