#!/bin/bash
# A check of the runtime's that fails: what is printed, and how the program ends.
set -u
failed=0
fail() { echo "$*"; failed=1; }

"$PCL" --stress=fail sh -c 'cd / && umask 027; exit 3' >out 2>text
status=$?
[ $status = 134 ] || fail "status $status, not that of SIGABRT"
[ -s out ] && fail "standard output: $(cat out)"
# has PATTERN WHAT: a line that begins as all do, and goes on so.
has() { grep -qE "^pcl\\[[0-9]+\\]: $1" text || fail "no $2"; }
has 'check failed at [a-z/]+\.c:[0-9]+: .* \(pcl [0-9.]+ [a-z]+\)$' "line with the check and the build"
has 'task: slot 1, pid [0-9]+, tid [0-9]+ ' task
has 'pc: 0x[0-9a-f]+$' pc
has '  chdir\(0x[0-9a-f]+, 0x[0-9a-f]+, 0x[0-9a-f]+\) = 0$' "system call with its result"
has '  umask\(0x17, ' "system call with its arguments"
has '  exit_group\(0x3, ' "system call that was being served"
has 'block: at 0x[0-9a-f]+, entry [0-9]+ at 0x[0-9a-f]+ of fragment [0-9]+ ' block
has '  rax 00000000000000e7 ' registers
[ "$(grep -n 'exit_group(' text | cut -d: -f1)" -lt "$(grep -n 'chdir(' text | cut -d: -f1)" ] ||
	fail "the newest call is not the first"
[ "$(grep -c 'check failed' text)" = 1 ] || fail "more than one check"
pc=$(sed -n 's/.*pc: 0x//p' text)
grep -q "rip 0*$pc\$" text || fail "rip is not $pc"
[ $failed = 0 ] || cat text
exit $failed
