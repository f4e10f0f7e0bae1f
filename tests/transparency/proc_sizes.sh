# Sizes of memory in /proc, of the reader's own process, of its threads, and of its child.
$RUN python3 -c '
import mmap, os, signal, sys, threading
def read(path, name):
	return open("/proc/%s/%s" % (path, name)).read()
def tell(path):
	stat = read(path, "stat").rsplit(")", 1)[1].split()
	statm = [int(n) for n in read(path, "statm").split()]
	status = dict(line.split(":", 1) for line in read(path, "status").splitlines())
	vm = {name: int(value.split()[0]) for name, value in status.items() if name[:2] == "Vm" or name[:3] == "Rss"}
	size, rss = int(stat[20]), int(stat[21])
	print(len(stat), len(statm), size == statm[0] * 4096, 0 < size < 200 << 20, 0 < rss <= size // 4096)
	print(0 < statm[1] <= statm[0], statm[2] <= statm[1], statm[4] == statm[6] == 0, 0 < statm[5] <= statm[0])
	print(vm["VmSize"] * 1024 == size, vm["VmPeak"] >= vm["VmSize"], vm["VmRSS"] <= vm["VmSize"], vm["VmHWM"] >= vm["VmRSS"])
	print(vm["VmRSS"] == vm["RssAnon"] + vm["RssFile"] + vm["RssShmem"], vm["VmData"] <= vm["VmSize"])
	print(stat[17] == status["Threads"].strip(), int(status["Pid"]) == int(read(path, "stat").split()[0]))
	return statm
def grow(path):
	before = tell(path)
	yield
	after = tell(path)
	print(after[0] - before[0], after[5] - before[5], after[1] - before[1] >= 4096)
	yield
signal.signal(signal.SIGUSR1, lambda *args: 0)
for g in grow("self"), grow("self/task/%d" % os.getpid()), grow("thread-self"):
	next(g)
	m = mmap.mmap(-1, 64 << 20, flags = mmap.MAP_PRIVATE)
	for i in range(0, 16 << 20, 4096):
		m[i] = 1
	next(g)
	del m
r, w = os.pipe()
r2, w2 = os.pipe()
pid = os.fork()
if not pid:
	os.write(w2, b"x")
	os.read(r, 1)
	m = mmap.mmap(-1, 64 << 20, flags = mmap.MAP_PRIVATE)
	for i in range(0, 16 << 20, 4096):
		m[i] = 1
	os.write(w2, b"x")
	os.read(r, 1)
	os._exit(0)
os.read(r2, 1)
g = grow(str(pid))
next(g)
os.write(w, b"x")
os.read(r2, 1)
next(g)
os.write(w, b"x")
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
stat, statm = read(pid, "stat").rsplit(")", 1)[1].split(), read(pid, "statm")
print(stat[0], stat[20], stat[21], statm)
os.waitpid(pid, 0)
def thread():
	signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV, signal.SIGUSR2])
	tell("thread-self")
	tell("self/task/%d" % threading.get_native_id())
	print("maps", "python" in read("thread-self", "maps"), "pclrt" in read("self/task/%d" % threading.get_native_id(), "maps"))
	print(read("thread-self", "stat").rsplit(")", 1)[1].split()[29:32])
	print([line for line in read("thread-self", "status").splitlines() if line[:6] in ("SigBlk", "SigCgt", "Thread")])
for path in "thread-self", "self":
	print(read(path, "stat").rsplit(")", 1)[1].split()[29:32])
	print([line for line in read(path, "status").splitlines() if line[:6] in ("SigBlk", "SigCgt", "Thread")])
t = threading.Thread(target = thread)
t.start()
t.join()'
$RUN sh -c 'ps -o vsz= -p $$ | awk "{ print \$1 < 100000 }"; cd /proc/$$ && awk "{ print \$1 < 100000 }" statm'
# Of children in the moment in which they begin.
$RUN python3 -c '
import os, signal
large = 0
for i in range(50):
	pid = os.fork()
	if not pid:
		signal.pause()
	with open("/proc/%d/stat" % pid) as stat, open("/proc/%d/statm" % pid) as statm:
		large += int(stat.read().rsplit(")", 1)[1].split()[20]) > 1 << 32 or int(statm.read().split()[0]) > 1 << 20
	os.kill(pid, signal.SIGKILL)
	os.wait()
print(large)'
