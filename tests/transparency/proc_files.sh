# What /proc says about the program, by itself and by its relatives.
mapped='{ sub(/^[^ ]* /, ""); sub(/ .* /, " "); print $1, $2 }'
$RUN readlink /proc/self/exe /proc/thread-self/exe //proc/./self/../self/exe
$RUN bash \
	-c 'readlink /proc/$$/exe /proc/$$/task/$$/exe; echo $(< /proc/$$/comm); tr "\0" " " < /proc/$$/cmdline | head -c 20'
$RUN stat -L -c '%n %s %i' /proc/self/exe
$RUN stat -c '%F' /proc/self/exe
$RUN cmp /proc/self/exe /usr/bin/cmp
$RUN bash -c '[ -x /proc/self/exe ] && /proc/self/exe -c "echo again"'
$RUN grep -E ' /usr/bin/grep| \[(heap|stack|vdso)\]' /proc/self/maps | awk "$mapped" | sort
$RUN grep -c -E 'pclrt|memfd' /proc/self/maps
$RUN grep -c -E 'pclrt|memfd' /proc/self/smaps
$RUN bash -c 'cat /proc/$$/maps' | grep -c -E 'pclrt|memfd'
$RUN ls /proc/self/fd /proc/self/fdinfo
$RUN head -c 0 /proc/self/fd/1022 /proc/self/fd/19998 2>&1
$RUN python3 -c '
import ctypes, os, struct
libc = ctypes.CDLL(None)
data = open("/proc/self/auxv", "rb").read()
aux = dict(struct.iter_unpack("QQ", data))
libc.getauxval.restype = ctypes.c_ulong
print(sorted(aux), all(libc.getauxval(k) == v for k, v in aux.items() if k))
stat = open("/proc/self/stat").read().split()
print(int(stat[25]) < int(stat[26]), int(stat[44]) <= int(stat[45]), int(stat[47]) < int(stat[48]))
print(open("/proc/self/environ").read().count("\0") == len(os.environ))'
cd /proc/self && $RUN readlink exe && $RUN grep -c pclrt maps
$RUN find /proc/self/ -maxdepth 1 -name exe -printf '%l\n'
for file in /proc/sys/kernel/perf_event_paranoid /sys/kernel/tracing; do # served, in the file system where they are
	[ -e $file ] && $RUN stat -c '%n %d %U' $file
done
# What the program has mapped, and no more: some MB.
$RUN awk '/^Vm(Peak|Size|Data)/ { print $1, $2 > 0 && $2 < 100000, length($0) }' /proc/self/status
$RUN python3 -c '
import threading
def tell():
	print([line for line in open("/proc/self/status") if line[:7] in ("Threads", "VmLck:\t")])
threading.Thread(target = tell).start()'
# A descriptor is of the same file as the path.
for file in /proc/self/maps /proc/self/status /proc/sys/kernel/perf_event_paranoid \
	/sys/bus/event_source/devices/software/type; do
	[ -r $file ] || continue
	$RUN cp $file copy && echo $file copied
	case $file in *[es]) ;; *) cat copy ;; esac
	rm -f copy
	$RUN python3 -c '
import os, sys
name = sys.argv[1]
f = os.open(name, os.O_RDONLY)
a, b, fs = os.stat(name), os.fstat(f), os.fstatvfs(f)
print(a.st_dev == b.st_dev, a.st_ino == b.st_ino, b.st_size, oct(b.st_mode), b.st_nlink, b.st_blocks, b.st_blksize)
print(fs.f_fsid == os.statvfs(name).f_fsid, fs.f_flag, fs.f_bsize, fs.f_namemax)
for whence in os.SEEK_DATA, os.SEEK_HOLE:
	try:
		print(os.lseek(f, 1, whence))
	except OSError as e:
		print(e)' $file
done
# Processes whose ids are numbers of pcl's descriptors.
export RUN
unshare -Urpf --mount-proc bash -c '
	echo 1009 >/proc/sys/kernel/ns_last_pid || exit
	for i in {1..20}; do sleep 60 & done
	$RUN ls /proc | grep -c "^10[12][0-9]$"
	$RUN bash -c "cd /proc/\$\$; ls fd fdinfo task/\$\$/fd /proc/thread-self/fdinfo; cd fd; ls"' 2>/dev/null
true
