# perf_event_open from Python by ctypes: no C wrapper, no header.
cat > t.py <<'END'
import ctypes, os, struct, fcntl
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def open_event(kind, config, flags, read_format=0, pid=0, cpu=-1, group=-1, size=128):
    attr = bytearray(size)
    struct.pack_into("IIQQQQQ", attr, 0, kind, size, config, 0, 0, read_format, flags)
    buffer = (ctypes.c_char * size).from_buffer(attr)
    fd = libc.syscall(298, buffer, pid, cpu, group, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd
DISABLED, EXCLUDE_KERNEL, EXCLUDE_HV = 1, 1 << 5, 1 << 6
fd = open_event(0, 1, DISABLED | EXCLUDE_KERNEL | EXCLUDE_HV, 1 | 2 | 4)
fcntl.ioctl(fd, 0x2400, 0)
sum(range(10000))
fcntl.ioctl(fd, 0x2401, 0)
value, enabled, running, ident = struct.unpack("QQQQ", os.read(fd, 100))
assert value > 50000 and enabled == running > 0 and ident > 0, (value, enabled, running, ident)
assert struct.unpack("QQQQ", os.read(fd, 100))[0] == value
fcntl.ioctl(fd, 0x2403, 0)
assert struct.unpack("Q", os.read(fd, 100)[:8])[0] == 0
try:
    open_event(0, 1, 0)
    raise AssertionError("kernel mode accepted" )
except PermissionError:
    pass
try:
    open_event(0, 9999, EXCLUDE_KERNEL)
    raise AssertionError("unknown event accepted")
except OSError as e:
    assert e.errno in (2, 22), e
print("value", value > 0)
END
if [ "$(id -u)" = 0 ]; then
	# uid 0 in the session may ask for what a user may not: run as the user that the test is about
	chmod 755 . && cp "$(readlink -f "$PCL")" "$(readlink -f "$PCL")rt" . && chmod a+r t.py
	exec "$BUILD/tests/restricted/restrict" ./pcl /usr/bin/python3 t.py
fi
exec "$PCL" /usr/bin/python3 t.py
