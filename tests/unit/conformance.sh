#!/bin/sh
# doc/conformance.md is what tools/conformance makes of the tests, and the tool notices what it is for.
set -eu
cd "$ROOT"
tools/conformance >"$HOME/written"
diff doc/conformance.md "$HOME/written" || { echo "tools/conformance >doc/conformance.md has not been run"; exit 1; }

copy=$HOME/copy
mkdir -p "$copy/tools" "$copy/tests/abi"
cp tools/conformance "$copy/tools"
printf '## Part\nPERF_ONE\nattr.two | a note\n' >"$copy/tests/conformance.list"

# said TEST 'FAULT': a tree with that test alone has that fault, or none.
said()
{
	printf '%b' "$1" >"$copy/tests/abi/a.c"
	"$copy/tools/conformance" >"$copy/out" 2>"$copy/faults" && status=0 || status=$?
	if [ "$(cat "$copy/faults")" != "$2" ] || [ $status -ne $((${#2} > 0)) ]; then
		echo "status $status of $1"
		cat "$copy/faults"
		exit 1
	fi
}

said '/* covers: PERF_ONE, attr.two */\nPERF_ONE .two\n' ''
grep -q '^| `attr.two` | `abi/a` | passes | a note |$' "$copy/out"
said '/*\n * covers: PERF_ONE,\n * attr.two\n */\nPERF_ONE .two\n' ''
said '/* covers for pcl: PERF_*, attr.two */\nPERF_ONE .two\n' ''
grep -q '^| `PERF_ONE` | `abi/a` | cannot answer | passes |$' "$copy/out"
said '/* covers: PERF_ONE */\nPERF_ONE\n' 'attr.two has no test'
said '/* covers: PERF_ONE, attr.two */\nPERF_ONE_MORE two\n' 'abi/a covers PERF_ONE, but does not use it'
said '/* covers: PERF_ONE, attr.two, three */\nPERF_ONE two\n' 'abi/a covers three, which is no item'
