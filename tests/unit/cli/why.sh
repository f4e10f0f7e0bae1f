#!/bin/bash
# --why: each kind of refusal once, with its count and reason, of all members, at the end; the guest's own status, output and files.
set -u
failed=0
fail() { echo "$*"; failed=1; }

"$PCL" --why true 2>said || fail "true: $?"
[ "$(cat said)" = "pcl: nothing was refused" ] || fail "nothing: $(cat said)"

cat >ask.py <<'END'
import ctypes, sys
libc = ctypes.CDLL(None)
for i in range(int(sys.argv[1])):
    libc.ptrace(16, 1, 0, 0)    # PTRACE_ATTACH
attr = bytearray(128)
attr[4] = 128
attr = (ctypes.c_char * 128).from_buffer(attr)
if libc.syscall(298, attr, 0, -1, -1, 0) >= 0:    # instructions, in kernel mode too
    print("opened")
END
"$PCL" --why=file sh -c 'python3 ask.py 3; python3 ask.py 4; exit 5' >out 2>err
[ $? = 5 ] || fail "the status is not the program's"
[ ! -s out ] && [ ! -s err ] || fail "said: $(cat out err)"
grep -q '^ *7  python3: ptrace: EPERM: .*not supported' file || { fail "ptrace"; cat file; }
grep -q '^ *2  python3: perf_event_open: EACCES: .*exclude_kernel' file || { fail "perf_event_open"; cat file; }
grep -q '^pcl: .*--paranoid=1' file || { fail "no word of --paranoid"; cat file; }
head -n 1 file | grep -qE '^pcl: refused, (9|[1-9][0-9]+) in all' || { fail "the sum"; cat file; }
[ "$("$PCL" --why=file --paranoid=1 python3 ask.py 1)" = opened ] || fail "--paranoid=1 does not help"
grep -q paranoid file && { fail "a word of --paranoid"; cat file; }

# A member that was killed leaves its refusals; without --why there is no word.
"$PCL" --why=file bash -c 'python3 -c "
import ctypes, os
ctypes.CDLL(None).ptrace(16, 1, 0, 0)
os.kill(os.getpid(), 9)"; :' 2>/dev/null
grep -q '^ *1  python3: ptrace: EPERM' file || { fail "a killed member"; cat file; }
"$PCL" python3 ask.py 1 >out 2>err
[ ! -s out ] && [ ! -s err ] || fail "without --why: $(cat out err)"
"$PCL" --why=/no/such/file true 2>err
[ $? = 125 ] && grep -q '^pcl: /no/such/file: ' err || fail "a file that cannot be written"
exit $failed
