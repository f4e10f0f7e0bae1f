# The environment, arguments and limits as given.
env -i $RUN /usr/bin/env
env -i A=1 B= 'C=x y' $RUN /usr/bin/env
env -i $RUN /bin/sh -c 'echo $#:$0:$1:$2' zero 'one two' ''
(ulimit -n 256; $RUN sh -c 'ulimit -n; ulimit -Hn')
(ulimit -n 40; $RUN /usr/bin/python3 \
	-c 'import os; print(os.pipe(), sorted(map(int, os.listdir("/proc/self/fd")))[:6])')
$RUN sh -c 'ulimit -s; ulimit -v; umask'
(umask 027; $RUN sh -c 'umask; > f; stat -c %a f')
nice -n 5 $RUN nice
$RUN /usr/bin/python3 -c 'import sys; print(len(sys.argv), sum(map(len, sys.argv)))' $(seq 20000)
