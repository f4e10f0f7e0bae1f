"""What a part of a program executes, counted by the program itself. Python alone, no package."""
import ctypes
import fcntl
import os
import struct

INSTRUCTIONS, DISABLED, EXCLUDE_KERNEL = 1, 1 << 0, 1 << 5  # PERF_COUNT_HW_INSTRUCTIONS; bits of attr
ENABLE, DISABLE = 0x2400, 0x2401  # PERF_EVENT_IOC_...
libc = ctypes.CDLL(None, use_errno=True)


def open_event(config):
    attr = struct.pack("IIQQQQQ", 0, 128, config, 0, 0, 0, DISABLED | EXCLUDE_KERNEL).ljust(128, b"\0")
    fd = libc.syscall(298, attr, 0, -1, -1, 0)  # perf_event_open of x86-64: this thread, any CPU, no group
    if fd < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open: " + os.strerror(ctypes.get_errno()))
    return fd


fd = open_event(INSTRUCTIONS)
fcntl.ioctl(fd, ENABLE, 0)
total = sum(range(100000))
fcntl.ioctl(fd, DISABLE, 0)
print(int.from_bytes(os.read(fd, 8), "little"), "instructions")
