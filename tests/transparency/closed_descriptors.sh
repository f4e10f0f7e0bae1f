# Descriptors 0, 1, 2 closed; others open; the list of open ones.
list='import os
r = []
for i in range(0, 64):
    try: os.fstat(i); r.append(i)
    except OSError: pass
open("fds", "w").write(str(r) + "\n")'
$RUN /usr/bin/python3 -c "$list" <&- ; cat fds
$RUN /usr/bin/python3 -c "$list" >&- ; cat fds
$RUN /usr/bin/python3 -c "$list" 2>&- ; cat fds
$RUN /usr/bin/python3 -c "$list" <&- >&- 2>&- ; cat fds
$RUN /usr/bin/python3 -c "$list" 7</dev/null 33</dev/null; cat fds
$RUN bash -c 'ls -l /proc/self/fd | wc -l; echo x >&- ; exec 9</dev/null; ls /proc/$$/fd > f; tr "\n" " " < f' 2>&1 |
	sed 's/line [0-9]*: //'
$RUN /usr/bin/python3 -c '
import os
os.closerange(3, 20000)
print(os.listdir("/proc/self/fd"), os.spawnlp(os.P_WAIT, "true", "true"))
os.close(0); print(os.open("/dev/null", os.O_RDONLY), os.dup(1), os.pipe())
print(os.system("exit 3") >> 8)'
