# Descriptors of files in /proc that pcl serves: what can be done with them, and what they look like.
$RUN python3 -c '
import errno, fcntl, os
def attempt(f, *args):
	try:
		return f(*args)
	except OSError as e:
		return errno.errorcode[e.errno]
def flags(fd):
	return oct(fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NOFOLLOW), fcntl.fcntl(fd, fcntl.F_GETFD)
def show(fd):
	return os.readlink("/proc/self/fd/%d" % fd).replace(str(os.getpid()), "PID")
how = ["O_PATH", "O_NOFOLLOW", "O_DIRECTORY", "O_CREAT", "O_TRUNC", "O_APPEND", "O_NONBLOCK", "O_DIRECT", "O_SYNC", "O_DSYNC",
	"O_PATH|O_RDWR", "O_PATH|O_DIRECTORY", "O_PATH|O_CREAT|O_EXCL", "O_CREAT|O_EXCL", "O_CREAT|O_DIRECTORY", "O_TMPFILE|O_RDWR"]
for name in "/proc/self/maps", "/proc/thread-self/status", "/proc/self/stat", "/proc/%d/statm" % os.getppid():
	for words in how:
		fd = attempt(os.open, name, sum(getattr(os, word) for word in words.split("|")))
		if isinstance(fd, str):
			print(words, fd)
			continue
		print(words, flags(fd), attempt(lambda: len(os.read(fd, 1))), show(fd).replace(str(os.getppid()), "PPID"))
		again = attempt(os.open, "/proc/self/fd/%d" % fd, os.O_RDONLY)
		print(os.fstat(fd).st_ino == os.stat(name).st_ino, len(os.read(again, 5)), b"pclrt" in os.read(again, 1 << 16))
		os.close(again)
		os.close(fd)
	fd = os.open(name, os.O_RDONLY)
	print(attempt(os.lseek, fd, 0, os.SEEK_END), attempt(os.lseek, fd, -1, os.SEEK_SET), attempt(os.lseek, fd, 2, os.SEEK_CUR))
	print(os.path.realpath("/proc/self/fd/%d" % fd).replace(str(os.getpid()), "PID").replace(str(os.getppid()), "PPID"))
	os.close(fd)
# A link is cut where the buffer ends.
import ctypes
libc = ctypes.CDLL(None)
fd = os.open("/proc/self/maps", os.O_RDONLY)
for size in 1, 7, 9, 200:
	buf = ctypes.create_string_buffer(200)
	n = libc.readlink(b"/proc/self/fd/%d" % fd, buf, size)
	print(buf.raw[:6], buf.raw[n:n + 2], n - (len(str(os.getpid())) if n > 9 else 0))'
