#!/bin/bash
# --why: each kind of refusal once, with its count and reason, of all members, at the end; the guest's own status,
# output and files.
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
grep -q '^pcl: python3 was refused .*--paranoid=1' file || { fail "no word of --paranoid"; cat file; }
head -n 1 file | grep -qE '^pcl: refused, (9|[1-9][0-9]+) in all' || { fail "the sum"; cat file; }
[ "$("$PCL" --why=file --paranoid=1 python3 ask.py 1)" = opened ] || fail "--paranoid=1 does not help"
grep -q paranoid file && { fail "a word of --paranoid"; cat file; }

# A member that was killed leaves its refusals; without --why there is no word.
"$PCL" --why=file bash -c 'python3 -c "
import ctypes, os
ctypes.CDLL(None).ptrace(16, 1, 0, 0)
os.kill(os.getpid(), 9)"; :' 2>/dev/null
grep -q '^ *1  python3: ptrace: EPERM' file || { fail "a killed member"; cat file; }

# An event in a map of BPF programs, who may make one.
cat >bpf.py <<'END'
import ctypes
libc = ctypes.CDLL(None)
def bpf(cmd, text):
    return libc.syscall(321, cmd, text, len(text))
def attr(*words):
    return b"".join(n.to_bytes(size, "little") for n, size in words)
array = bpf(0, attr((4, 4), (4, 4), (4, 4), (2, 4), (0, 4)))    # PERF_EVENT_ARRAY
event = (ctypes.c_char * 128).from_buffer(bytearray(attr((1, 4), (128, 4), (10, 8)).ljust(128, b"\0")))
fd = ctypes.c_int(libc.syscall(298, event, -1, 0, -1, 0))    # PERF_COUNT_SW_BPF_OUTPUT
key = ctypes.c_int(0)
if array >= 0 and fd.value >= 0:
    print(bpf(2, attr((array, 8), (ctypes.addressof(key), 8), (ctypes.addressof(fd), 8), (0, 8))))
END
if [ "$("$PCL" --why=file --paranoid=-1 python3 bpf.py)" = -1 ]; then
	grep -q "^ *1  python3: bpf: EBADF: BPF programs cannot write to pcl's events$" file || { fail bpf; cat file; }
fi

# An instruction. Natively it may be refused, too.
printf '.globl _start\n_start: mov $20, %%eax\n int $0x80\n mov $60, %%eax\n xor %%edi, %%edi\n syscall\n' >int80.s
if gcc -nostdlib -static -o int80 int80.s 2>/dev/null; then
	"$PCL" --why=file ./int80
	[ $? = 139 ] && grep -q '^ *1  int80: instruction: SIGSEGV: int 0x80 or sysenter: .*32 bits$' file ||
		{ fail "int 0x80"; cat file; }
fi

# A thread, where all mappings but two that the kernel gives a process are taken. Natively it begins.
cat >full.c <<'END'
#include <pthread.h>
#include <sys/mman.h>
static char stack[1 << 20] __attribute__((aligned(4096)));
static void *run(void *none) { return none; }
static char *page(int nr) { return mmap(0, 4096, nr % 2, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void)
{
	char *first = page(0), *second = page(1);
	pthread_attr_t attr;
	pthread_t thread;

	for (int nr = 2; page(nr) != MAP_FAILED; nr++)
		;
	munmap(first, 4096);
	munmap(second, 4096);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, sizeof(stack));
	return pthread_create(&thread, &attr, run, 0);
}
END
if [ "$(cat /proc/sys/vm/max_map_count)" -lt 100000 ]; then
	gcc -o full full.c -lpthread && ./full || fail "without pcl the thread does not begin"
	"$PCL" --why=file ./full
	[ $? = 11 ] && grep -q '^ *1  full: clone[3]*: ENOMEM: no more mappings, .*(vm.max_map_count)$' file ||
		{ fail "a thread without mappings"; cat file; }
fi

# Without --why: a line names who asked for kernel mode only, and if the session fails, one says that there is --why.
cat >opens.py <<'END'
import ctypes, sys
libc = ctypes.CDLL(None)
def opens(config, flags, pid=0, type=0, group=-1):
    attr = bytearray(128)
    attr[0], attr[4], attr[8], attr[40] = type, 128, config, flags
    return libc.syscall(298, (ctypes.c_char * 128).from_buffer(attr), pid, -1, group, 0) >= 0
KERNEL, USER, KERNEL_ALONE, INSTRUCTIONS, CACHE_MISSES = 0, 32, 16, 1, 3
END
script() { printf 'from opens import *\n%s\n' "$2" >"$1.py"; }
script kernel 'assert not opens(INSTRUCTIONS, KERNEL)'
script again 'assert not opens(INSTRUCTIONS, KERNEL) and opens(INSTRUCTIONS, USER)'
script alone 'assert not opens(INSTRUCTIONS, KERNEL_ALONE); sys.exit(5)'
# Refused for another reason then, as with perf and a group of more events than there are counters.
script no_group 'assert not opens(INSTRUCTIONS, KERNEL) and not opens(INSTRUCTIONS, USER, group=9999)'
script again_in_vain 'assert not opens(INSTRUCTIONS, KERNEL) and not opens(CACHE_MISSES, USER)'
# As stress-ng: an event of software that there is not, asked for as all others are.
script no_event 'assert not opens(INSTRUCTIONS, KERNEL) and not opens(11, KERNEL, type=1)'
# As perf record, whose last event is a dummy.
script side_band 'assert opens(INSTRUCTIONS, USER) ; opens(9, KERNEL, type=1)'
script another "import os; child = int(os.environ['OUTSIDE']); assert not opens(INSTRUCTIONS, KERNEL, child) and not opens(INSTRUCTIONS, USER, child); sys.exit(5)"
script traces 'assert libc.ptrace(16, 1, 0, 0) < 0; sys.exit(7)'
script aborts 'import os; assert libc.ptrace(16, 1, 0, 0) < 0; os.abort()'
script is_ended 'import os; assert libc.ptrace(16, 1, 0, 0) < 0; os.kill(os.getpid(), 15)'
script outside 'assert not opens(INSTRUCTIONS, USER, int(sys.argv[1]))'
kernel='^pcl: python3 was refused what counts the kernel too, .*\(:u\), or let pcl --paranoid=1 grant it, with counts of user mode$'
why='^pcl: 1 call of perf_event_open or ptrace was refused; pcl --why PROGRAM says why$'
# says WANTED-STATUS [PATTERN...]: what the last try() wrote to standard error, a line each, and nothing else.
says()
{
	[ $status = "$1" ] || fail "$tried: status $status, not $1"
	shift
	[ "$(wc -l <err)" = $# ] || { fail "$tried: $# lines wanted:"; cat err; }
	for pattern; do grep -qE "$pattern" err || { fail "$tried does not say $pattern:"; cat err; }; done
}
try() { tried=$*; "$PCL" "$@" >out 2>err; status=$?; [ ! -s out ] || fail "$*: $(cat out)"; }
try python3 kernel.py; says 0 "$kernel"
try sh -c 'python3 kernel.py; exit 5'; says 5 "$kernel"
try sh -c 'exit 5'; says 5
try sh -c 'python3 again.py; exit 5'; says 5
try python3 again_in_vain.py; says 0
try python3 no_group.py; says 0
try python3 no_event.py; says 0 "$kernel"
try python3 alone.py; says 5 "$why"
try --paranoid=1 python3 alone.py; says 5 "$why"
try sh -c 'python3 again_in_vain.py; exit 5'; says 5 "$why"
try python3 side_band.py; says 0
if [ "$(id -u)" = 0 ]; then # who may count kernel mode, but for what pcl counts: as another user
	mkdir tree && cp "$(readlink -f "$PCL")" tree/pcl && cp "$(readlink -f "$PCL")rt" tree/ && chmod -R a+rX . && tried=restrict
	"$BUILD/tests/restricted/restrict" tree/pcl python3 side_band.py >out 2>err; status=$?; says 0
fi
try python3 traces.py; says 7 "$why"
try python3 aborts.py; says 134 "$why"
try python3 is_ended.py; says 143 # somebody wanted that
try --why=file sh -c 'python3 traces.py'; says 7
try sh -c 'exec 2>other; python3 kernel.py; python3 traces.py'; says 7 # another file has become standard error
[ ! -s other ] || fail "another file: $(cat other)"
(sleep 0.3; "$PCL" python3 kernel.py; echo $? >status) 2>&1 | : # nobody reads it
[ "$(cat status)" = 0 ] || fail "standard error is a broken pipe: status $(cat status)"
try count -e instructions:k true; says 125 '^pcl: instructions: kernel mode is invisible to pcl'
try --paranoid=1 count -e instructions:k true; says 125 '^pcl: instructions: kernel mode is invisible to pcl'
try count -e cache-misses true; says 125 '^pcl: cache-misses is not supported: ' # pcl's commands speak for themselves
sleep 30 & # a process of another session
try --why=file python3 outside.py $!; says 0
OUTSIDE=$! try python3 another.py; says 5 "$why"
kill $!
grep -q '^ *1  python3: perf_event_open: ESRCH: no task of the session has this pid$' file ||
	{ fail "outside"; cat file; }
# Where the program writes, too, what it wrote stays.
echo before >both
"$PCL" --why=/dev/stderr sh -c 'echo program >&2' 2>>both
[ "$(cat both)" = "$(printf 'before\nprogram\npcl: nothing was refused')" ] || { fail "/dev/stderr"; cat both; }
[ "$("$PCL" --why=- sh -c 'echo program')" = "$(printf 'program\npcl: nothing was refused')" ] || fail "--why=-"
"$PCL" --why=/no/such/file true 2>err
[ $? = 125 ] && grep -q '^pcl: /no/such/file: ' err || fail "a file that cannot be written"
exit $failed
