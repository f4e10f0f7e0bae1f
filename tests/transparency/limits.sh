# Limits on memory: pcl's own mappings do not count.
$RUN bash -c 'ulimit -v 300000; ls -d /tmp; ulimit -v; ulimit -Hv; bash -c "ulimit -v"'
$RUN bash -c 'ulimit -d 300000; ls -d /tmp; ulimit -d'
$RUN bash -c 'ulimit -v 300000; /usr/bin/python3 -c "
try: bytearray(400 << 20)
except MemoryError: print(\"no memory\")"'
$RUN bash -c 'ulimit -s 100000; ls -d /tmp; ulimit -s'
$RUN bash -c 'ulimit -s unlimited; ls -d /tmp; ulimit -s'
$RUN bash -c 'ulimit -n 20; ls -d /tmp; ls /proc/self/fd | wc -l'
$RUN bash -c 'ulimit -l 64; ls -d /tmp; ulimit -l'
# Those that pcl itself was started with: the soft ones, below hard ones that leave room.
(ulimit -S -v 300000; $RUN bash -c 'ulimit -v; ulimit -Hv; ls -d /tmp; python3 -c "
try: bytearray(400 << 20)
except MemoryError: print(\"no memory\")"')
(ulimit -S -d 300000; $RUN bash -c 'ulimit -d; ulimit -Hd; bash -c "ulimit -d"; ls -d /tmp')
# Files: pcl's own are larger than any such limit, and those of the program still end there.
$RUN bash -c 'ulimit -f 64; ls -d /tmp; ulimit -f; bash -c "ulimit -f"; head -c 100000 /dev/zero >large; echo $?' 2>/dev/null
(ulimit -S -f 64
	$RUN bash -c 'ulimit -f; ulimit -Hf; head -c 100000 /dev/zero >large; echo $?; stat -c %s large' 2>/dev/null)
(ulimit -S -f 0; exec $RUN true); echo $?
# What the program lowers then stays so.
(ulimit -S -v 300000; ulimit -S -d 300000
	$RUN bash -c 'ulimit -S -v 200000; ulimit -S -d 100000; bash -c "ulimit -v; ulimit -d"')
