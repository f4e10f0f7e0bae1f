#!/bin/bash
# --no-model=accept: what opens a fixed set of events gets those that there is a model of; the others are never counted,
# which their time_running says. By default they are refused, and --why says so.
set -u
status=0
fail() { echo "$*"; status=1; }

# A group of five, as benchmarks open them: instructions, cycles, misses of branches and caches, and a cache event.
cat >group.py <<'END'
import ctypes, fcntl, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def event(kind, config, leader):
    read_format = 1 | 2 | (8 if leader == "all" else 0)
    attr = struct.pack("<IIQQQQQ", kind, 128, config, 0, 0, read_format, 1 << 5 | (leader == "all")).ljust(128, b"\0")
    fd = libc.syscall(298, ctypes.create_string_buffer(attr, 128), 0, -1, -1 if leader == "all" else leader, 0)
    if fd < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    return fd
fds = [event(0, 1, "all")]
fds += [event(kind, config, fds[0]) for kind, config in ((0, 0), (0, 5), (0, 3), (3, 0x10000))]
fcntl.ioctl(fds[0], 0x2400, 1)
sum(range(1000))
fcntl.ioctl(fds[0], 0x2401, 1)
nr, enabled, running, *values = struct.unpack("<8Q", os.read(fds[0], 64))
assert nr == 5 and enabled == running > 0 and values[0] > 1000 and values[1] > 100 and values[2:] == [0, 0, 0], values
for fd in fds[1:]:
    value, enabled, running = struct.unpack("<3Q", os.read(fd, 24))
    assert enabled > 0 and (running == enabled) == (fd == fds[1]) and (running == 0) == (fd != fds[1]), (value, running)
END
"$PCL" --no-model=accept python3 group.py || fail "accept: $?"
"$PCL" --why=why python3 group.py 2>err
[ $? = 1 ] && grep -q 'No such file' err && grep -q 'perf_event_open: ENOENT: .*(see --no-model)' why ||
	{ fail "by default"; cat err why; }
"$PCL" --no-model=perhaps true 2>err && fail "--no-model=perhaps"
if command -v perf >/dev/null; then
	"$PCL" --no-model=accept perf stat -x, -o csv -e instructions:u,branch-misses:u,LLC-load-misses:u true
	awk -F, '/instructions/ && $1 > 1000 { n++ } /-misses/ && $1 == "<not counted>" { n++ } END { exit n != 3 }' csv ||
		{ fail "perf stat"; cat csv; }
	"$PCL" --no-model=accept perf record -q -e branch-misses:u -o data true && [ "$(perf script -i data 2>&1)" = "" ] ||
		fail "perf record"
fi
exit $status
