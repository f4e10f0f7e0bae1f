# Assorted programs with signals, timers, terminals' absence, temporary files, sorting, archives.
$RUN timeout 1 sleep 10; echo $?
($RUN timeout -s KILL 0.3 sleep 10; echo $?) 2>/dev/null
seq 20000 | $RUN shuf --random-source=/bin/true | $RUN sort -n --parallel=2 | sha256sum
mkdir d; for i in 1 2 3; do echo $i > d/$i; done
$RUN tar cf - --mtime=@0 --sort=name --owner=0 --group=0 d | $RUN tar tvf - | sha256sum
$RUN find /usr/include -name '*.h' -newer /nonexistent 2>&1 | head -1
$RUN awk 'BEGIN { for (i = 0; i < 100000; i++) s += sin(i); printf "%.6f\n", s }'
$RUN bc -l <<< 'scale=40; 4*a(1)' 2>/dev/null
$RUN sed -n '/define/{s/#/!/;p;q}' /usr/include/stdio.h
$RUN grep -rc include /usr/include/x86_64-linux-gnu/sys | sort | sha256sum
$RUN xargs -P2 -n1 echo <<< 'a' 
$RUN setsid -w sh -c 'exit 4'; echo $?
$RUN nohup true 2>/dev/null; echo $?
$RUN diff /etc/passwd /etc/group > /dev/null; echo $?
$RUN make --version | head -1
$RUN date -d @0 -u
