# Signals sent to the command reach the program; its death and its stop are the command's.
cat > t.py <<'END'
import os, signal, subprocess, sys, time
run = sys.argv[1:]
def start(code):
    p = subprocess.Popen(run + ["sh", "-c", code], stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    return p
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    p = start("echo ready; sleep 20 & wait")
    p.send_signal(s)
    print(s.name, p.wait(timeout=10))
p = start("trap 'echo caught; exit 5' TERM; echo ready; sleep 20 & wait")
p.send_signal(signal.SIGTERM)
print(p.stdout.readline(), p.wait(timeout=10))
p = start("echo ready; while :; do sleep 0.1; done")
p.send_signal(signal.SIGKILL)
print("KILL", p.wait(timeout=10))
END
/usr/bin/python3 t.py $RUN
# nothing of the killed program is left
sleep 0.5
pgrep -s 0 -f 'while :; do sleep 0.1' | wc -l
