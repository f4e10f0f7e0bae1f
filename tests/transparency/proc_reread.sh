# Files of /proc that are read again from their beginning tell what is true then.
$RUN python3 -c '
import mmap, os, signal
def size(text):
	return int(text.split()[0])
f = open("/proc/self/statm")
before = size(f.read())
m = mmap.mmap(-1, 64 << 20)
f.seek(0)
print(size(f.read()) - before)
fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
before = size(os.pread(fd, 100, 0))
del m
os.read(fd, 3)
print(size(os.pread(fd, 100, 0)) - before, os.lseek(fd, 0, os.SEEK_CUR), os.get_inheritable(fd), os.get_blocking(fd))
maps = os.open("/proc/thread-self/maps", os.O_RDONLY)
def lines(): # a read gives a page at most
	return b"".join(iter(lambda: os.read(maps, 4096), b"")).count(b"\n")
before = lines()
kept = [mmap.mmap(-1, 4096 * (1 + n), prot = n % 2 + 1) for n in range(10)]
os.lseek(maps, 0, os.SEEK_SET)
print(lines() > before)
status = open("/proc/self/status")
def blocked():
	status.seek(0)
	return [line for line in status if line.startswith("SigBlk")]
print(blocked())
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV, signal.SIGUSR1])
print(blocked())
# The descriptor tells of the parent in the child, too.
stat = os.open("/proc/self/stat", os.O_RDONLY)
if not os.fork():
	print(size(os.pread(stat, 100, 0)) == os.getppid(), flush = True)
	os._exit(0)
os.wait()
# Opened in between: the lowest number is free again.
print(os.dup(0) == stat + 1)'
# They can be read with a filter that kills for memfd_create, fcntl, dup3, readlinkat or openat.
$RUN python3 -c '
import ctypes, os, struct
libc = ctypes.CDLL(None)
fd = os.open("/proc/self/statm", os.O_RDONLY)
killing = [319, 72, 292, 267, 257]
code = [(0x20, 0, 0, 0)] + [(0x15, len(killing) - i, 0, nr) for i, nr in enumerate(killing)]
code += [(6, 0, 0, 0x7fff0000), (6, 0, 0, 0x80000000)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(filter)))
libc.prctl(38, 1, 0, 0, 0)
print(libc.prctl(22, 2, program), flush = True)
print(len(os.pread(fd, 100, 0)) > 5, os.lseek(fd, 0, os.SEEK_SET), flush = True)'
