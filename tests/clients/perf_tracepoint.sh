# System calls as tracepoints: perf's own tests of them, perf stat, record, script and trace; the host's tracefs does
# not shine through.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
status=0
fail() { echo "$*"; status=1; }
events=/sys/kernel/tracing/events
calls=$BUILD/tests/clients/calls
pcl() { "$PCL" --paranoid=-1 "$@"; }

# perf's own tests, which are named differently by other versions
for name in 'openat syscall event' 'using the mmap interface' 'openat event fields' 'backward ring buffer'; do
	pcl perf test "$name" > test 2>&1 || fail "perf test $name"
	grep -q ': Ok' test || { fail "perf test $name"; cat test; }
	grep -q 'FAILED' test && { fail "perf test $name"; cat test; }
done

# exact counts, in processes and threads
pcl perf stat -x, -o csv -e syscalls:sys_enter_getppid,syscalls:sys_exit_getppid -- "$calls" || fail "stat"
[ "$(grep -c '^300,' csv)" = 2 ] || { fail "stat"; cat csv; }
pcl perf stat -x, -o csv -e syscalls:sys_exit_openat --filter 'ret == -2 && comm == "calls"' -- "$calls" ||
	fail "filter"
grep -qE '^9[0-9],' csv || { fail "filter"; cat csv; } # the loader's besides
pcl perf stat -x, -o csv -e 'syscalls:sys_enter_*' -- "$calls" || fail "all of them"
[ "$(grep -c 'syscalls:sys_enter_' csv)" -gt 300 ] && grep -q '^300,.*sys_enter_getppid' csv ||
	{ fail "all of them"; grep -v '^0' csv; }
# Without privilege perf leaves the kernel out by itself.
"$PCL" perf stat -x, -o csv -e syscalls:sys_enter_getppid -- "$calls" || fail "as a user"
grep -q '^300,' csv || { fail "as a user"; cat csv; }

# records
pcl perf record -q -o data -e 'syscalls:sys_enter_openat,syscalls:sys_exit_openat' -- "$calls" 2> err ||
	fail "record: $(cat err)"
pcl perf script -i data -F comm,event,trace > script 2> err || fail "script: $(cat err)"
enter='calls *syscalls:sys_enter_openat: dfd: 0xffffff9c, filename: 0x[0-9a-f]*, flags: 0x00000000'
[ "$(grep -c "$enter" script)" = 90 ] || { fail "arguments"; head -5 script; }
[ "$(grep -c 'sys_exit_openat: 0xfffffffffffffffe' script)" -ge 90 ] || { fail "results"; head -5 script; }
pcl perf trace -o trace -e openat,getppid -- "$calls" 2> err || fail "trace: $(cat err)"
# All are counted and recorded above. perf trace may leave out the end of a call that another task's came between.
[ "$(grep -c 'getppid()' trace)" -ge 297 ] && [ "$(grep -c 'openat(.*ENOENT' trace)" -ge 87 ] ||
	{ fail "trace: $(grep -c . trace) lines"; grep -v 'getppid() *) *=' trace | grep -v ENOENT | head -5; }

# the view of the session
"$PCL" perf list tracepoint 2> /dev/null > list
grep -q 'syscalls:sys_enter_openat ' list && grep -q 'raw_syscalls:sys_exit ' list || fail "perf list"
grep -q 'sched:sched_process_exec ' list || fail "perf list has no tasks'"
grep -q 'sched:sched_switch ' list && fail "perf list shows the host's"
"$PCL" sh -c "cat $events/syscalls/sys_enter_openat/format; ls $events; cat /sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id" > view 2>&1
grep -q 'field:const char \* filename;	offset:24;	size:8;	signed:0;' view && grep -q '^16$' view ||
	{ fail "tracefs"; cat view; }
"$PCL" cat $events/sched/sched_switch/id 2> /dev/null && fail "the host's tracefs"
"$PCL" sh -c "cd $events && ls" > /dev/null 2>&1 && fail "a working directory in the host's tracefs"
"$PCL" stat -f -c %T /sys/kernel/tracing | grep -q tracefs || fail "statfs"
# What a tool needs and does not find is said, and it does not wait for it.
timeout 60 "$PCL" --paranoid=-1 --why=why perf sched record -o data true >said 2>&1 &&
	fail "perf sched record: no error"
for name in sched_stat_wait sched_waking sched_stat_runtime; do
	grep -q "openat: ENOENT: sched:$name happens inside the kernel" why || { fail "--why of $name"; cat why; }
done
# Without --sort-events perf trace takes one processor's records after the other's, and names nothing of a task that
# moved between its exec and its first fault.
timeout 60 "$PCL" --paranoid=-1 --why=why perf trace -F all --sort-events -o trace true 2>err ||
	fail "perf trace -F: $(cat err)"
grep -q 'minfault \[[a-z_]*+0x[0-9a-f]*\] => /.*ld-linux.*@0x' trace ||
	{ fail "perf trace -F"; head -5 trace; }
exit $status
