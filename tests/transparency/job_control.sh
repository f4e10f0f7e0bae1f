# Stop and continue, process groups, a pseudo-terminal with a shell on it.
cat > t.py <<'END'
import os, pty, re, signal, subprocess, sys, time
run = sys.argv[1:]
p = subprocess.Popen(run + ["sh", "-c", "kill -STOP $$; exit 6"])
pid, status = os.waitpid(p.pid, os.WUNTRACED)
print(os.WIFSTOPPED(status) and os.WSTOPSIG(status))
p.send_signal(signal.SIGCONT)
print(os.waitstatus_to_exitcode(os.waitpid(p.pid, 0)[1]))
pid, fd = pty.fork()
if not pid:
    os.environ["PS1"] = "$ "
    args = run + ["bash", "--norc", "--noprofile", "-i"]
    os.execvp(args[0], args)
seen = b""
def until(*texts):
    global seen
    end = time.time() + 20
    for text in texts:
        while text not in seen:
            if time.time() > end:
                return False
            seen += os.read(fd, 1000)
        seen = seen[seen.index(text) + len(text):]
    return True
print(until(b"$ "))
os.write(fd, b"tty -s && echo T''TY; sleep 30\n"); print(until(b"TTY"))
time.sleep(0.5); os.write(fd, b"\x03"); print(until(b"$ "))
os.write(fd, b"echo status=$?\n"); print(until(b"status=130", b"$ "))
os.write(fd, b"sleep 30\n"); time.sleep(0.5); os.write(fd, b"\x1a"); print(until(b"Stopped", b"$ "))
os.write(fd, b"kill -9 %1; sleep 0.3; jobs; exit 8\n")
try:
    while os.read(fd, 1000): pass
except OSError: pass
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
/usr/bin/python3 t.py $RUN
