# gdb runs as far as it can; where tracing another guest is not supported, it says so and ends.
command -v gdb >/dev/null || { echo "no gdb"; exit 77; }
$RUN gdb --batch -ex 'print 6*7' 2>/dev/null
cat > t.py <<'END'
import subprocess, sys
r = subprocess.run(sys.argv[1:] + ["gdb", "--batch", "-nx", "-ex", "run", "-ex", "quit", "/bin/true"],
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, text=True)
native = len(sys.argv) == 1
refused = "ptrace" in r.stdout or "trace" in r.stdout or "not supported" in r.stdout
print("ends well" if "exited normally" in r.stdout or (refused and not native) else r.stdout)
END
/usr/bin/python3 t.py $RUN
