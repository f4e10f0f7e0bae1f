# Death by signal, as the parent sees it; nothing on the terminal that is not there natively.
for s in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL SEGV USR1 PIPE ALRM TERM XCPU SYS RTMIN; do
	python3 -c '
import subprocess, sys
print(sys.argv[1], subprocess.run(sys.argv[2:]).returncode)' $s $RUN sh -c "ulimit -c 0; kill -$s \$\$"
done
python3 -c '
import subprocess, sys
run = sys.argv[1:]
for code in ("import os; os.abort()", "import ctypes; ctypes.string_at(0)", "import sys; sys.exit(3)"):
    print(subprocess.run(run + ["/usr/bin/python3", "-c", "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); " + code]).returncode)' $RUN
