# CPython: threads, subprocesses, a pure-Python benchmark, signals, a generator of many objects.
command -v /usr/bin/python3 >/dev/null || { echo "no python3"; exit 77; }
cat > t.py <<'END'
import threading, subprocess, signal, os, hashlib, json, re, sys, zlib
def work(n, out):
    x = 0
    for i in range(n):
        x = (x * 31 + i) % 1000003
    out.append(x)
out = []
threads = [threading.Thread(target=work, args=(20000, out)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(out))
print(subprocess.run(["sh", "-c", "echo sub; exit 3"], capture_output=True))
print(subprocess.check_output([sys.executable, "-c", "print(6*7)"]))
def sieve(n):
    s = bytearray([1]) * n
    for i in range(2, int(n ** 0.5) + 1):
        if s[i]:
            s[i*i::i] = bytes(len(s[i*i::i]))
    return sum(s) - 2
print(sieve(200000))
signal.signal(signal.SIGUSR1, lambda *a: print("signal", a[0]))
os.kill(os.getpid(), signal.SIGUSR1)
print(hashlib.sha256(b"x" * 100000).hexdigest(), zlib.crc32(b"y" * 1000))
print(re.sub(r"(\w+)@(\w+)", r"\2 at \1", "name@host " * 3), json.dumps({"a": [1, 2.5, None]}))
try:
    raise ValueError("kept")
except ValueError as e:
    print(e)
print(os.path.basename(sys.executable), len(os.listdir("/proc/self/fd")))
pid = os.fork()
if pid == 0:
    os._exit(17)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
$RUN /usr/bin/python3 t.py
