#!/bin/bash
# pcl --pin=pids: process numbers are the same in each run; signals, stops, status, daemons and users are as natively.
set -u
failed=0
fail() { echo "$*"; failed=1; }

# Where it is refused: by name that is an error, with "all" it is left out.
refusing() { unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_pid_namespaces && exec "$@"' - "$@"; }
if refusing true 2> /dev/null; then
	got=$(refusing "$PCL" --pin=+pids echo was run 2>&1)
	[ $? = 125 ] || fail "refused: status is not 125"
	words='^pcl: process ids cannot be held still: the host refuses a namespace of its own: .*--pin=-pids'
	grep -q "$words" <<< "$got" ||
		fail "refused: $got"
	[ "$(refusing "$PCL" --pin=all echo was run 2>&1)" = "was run" ] || fail "--pin=all where they are refused"
	refusing "$PCL" doctor | grep -q '^  -      process ids .*cannot be held still' ||
		fail "doctor where they are refused"
fi

without_proc() { unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$@"; }
if without_proc true 2> /dev/null; then
	got=$(without_proc "$PCL" --pin=+pids echo was run 2>&1)
	[ $? = 125 ] && grep -q '^pcl: process ids cannot be held still: there is no /proc.*--pin=-pids' <<< "$got" ||
		fail "no /proc: $got"
	[ "$(without_proc "$PCL" --pin=all echo was run 2>&1)" = "was run" ] || fail "--pin=all without /proc"
	without_proc "$PCL" doctor | grep -q '^  -      process ids .*cannot be held still: there is no /proc' ||
		fail "doctor without /proc"
fi

# After chroot the root is no mount point.
if unshare -rm true 2> /dev/null && [ -x /usr/sbin/chroot ]; then
	mkdir -p jail/proc && cp "$(readlink -f "$PCL")" "$(readlink -f "$PCL")rt" jail/
	unshare -rm sh -c 'mount --rbind /proc jail/proc && exec /usr/sbin/chroot jail /pcl doctor' |
		grep -q '^  -      process ids .*cannot be held still: the root directory is no mount point' || fail "doctor after chroot"
fi

got=$("$PCL" --pin=+pids true 2>&1) || {
	[ "${got#pcl: process ids cannot be held still: the host refuses}" != "$got" ] || fail "true: $got"
	[ $failed = 1 ] && exit 1
	echo "$got"
	exit 77
}
"$PCL" doctor | grep -q '^  ok     process ids .*--pin=+pids' || fail "doctor"

# Numbers.
is() { [ "$1" = "$2" ] || fail "$3: $1, not $2"; }
script='echo $$ $PPID; sh -c "echo \$\$ \$PPID; true"; sh -c "echo \$\$"; readlink /proc/self'
is "$("$PCL" --pin=+pids sh -c "$script")" \
	"2 0
3 2
4
5" "process ids"
is "$("$PCL" --pin=+pids sh -c 'echo /proc/[0-9]*')" "/proc/1 /proc/2" "/proc"
[ "$("$PCL" --pin sh -c 'echo $$')" = 2 ] && fail "--pin has process ids with it"
is "$("$PCL" --pin=pids --stats sh -c 'kill -0 $$ && echo $$' 2> stats)" 3 "with --stats"
got=$("$PCL" --pin=+pids count -r 11 -- sh -c 'echo $$ >&2; /bin/true' 2>&1 > /dev/null |
	grep '^[0-9][0-9]*$' | sort -u)
is "$got" 3 "the runs of count -r"
grep -q statistics stats || fail "--stats: $(cat stats)"
for run in 1 2 3 4; do
	for i in $(seq $((run * 7))); do /bin/true; done
	"$PCL" --pin=+pids count --csv -e instructions,branches -- \
		perl -e '$| = 1; for (1 .. 9) { fork or exec "echo", "$$"; wait; print "$$ $_\n" }' 2>&1 > output |
		awk -F, '/^(instructions|branches)/ { printf "%s %s ", $1, $5 }'
	cksum < output
done | sort -u > runs
[ "$(wc -l < runs)" = 1 ] || fail "counts differ: $(cat runs)"

# As natively, or as $* does it.
echo input > input
ways()
{
	"$@" sh -c 'exit 7'; echo "status $?"
	"$@" sh -c 'kill -TERM $$'; echo "status $?"
	"$@" sh -c 'kill -KILL $$'; echo "status $?"
	"$@" sh -c 'trap "" TERM; kill -TERM $$; trap "exit 9" TERM; kill -TERM $$; sleep 5'; echo "status $?"
	"$@" sleep 100 & sleep 0.3; kill -TERM $!; wait $!; echo "status $?"
	"$@" sh -c 'trap "echo came; exit 5" USR1; : > begun; while :; do sleep 0.1; done' &
	for i in $(seq 100); do [ -e begun ] && break; sleep 0.1; done
	kill -USR1 $!; wait $!; echo "status $?"; rm begun
	"$@" sh -c 'sleep 1; echo slept' &
	sleep 0.3; kill -TSTP $!; sleep 0.3; cut -d' ' -f3 /proc/$!/stat; kill -CONT $!; wait $!; echo "status $?"
	bash -c 'set -m; "$@"; echo "status of a job that stopped itself $?"; fg > /dev/null; echo "status $?"' x \
		"$@" sh -c 'kill -TSTP $$; exit 6'
	"$@" sh -c '(sleep 0.5; echo daemon > daemon) > /dev/null 2>&1 & echo parent' | cat
	sleep 1; cat daemon; rm daemon
	"$@" sh -c 'exec > /dev/null; sleep 1; echo late > late' | cat
	[ -e late ]; echo "end of file before the end: $?"; sleep 1.3; rm late
	"$@" sh -c 'id -u; id -g; : > file; stat -c %u:%g file'
	"$@" sh -c 'ulimit -n; umask; pwd; cat' < input
	"$@" env -i /bin/sh -c 'echo $0; kill -s 0 1 2> /dev/null; test -r /proc/self/maps; echo $?'
	"$@" python3 -c 'import os
pid = os.fork()
if not pid: os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
r, w = os.pipe()
if not os.fork():
	if os.fork(): os._exit(0)
	import time
	time.sleep(0.1)
	os.write(w, b"orphan")
	os._exit(0)
os.wait()
print(os.read(r, 9))'
}
ways > native 2> /dev/null
ways "$PCL" --pin=+pids,-env > pinned 2> /dev/null
cmp native pinned || diff native pinned || failed=1

# Whoever kills pcl kills the program; nobody is left; a daemon's end is that of the namespace.
# Who has ended but is not reaped yet has no command line any more: the machine's init may take seconds for that.
somebody_runs()
{
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/ns/pid" 2> /dev/null)" = "$1" ] &&
			grep -q . "$process/cmdline" 2> /dev/null && return
	done
	return 1
}
namespace_ends()
{
	[ -n "$1" ] || { fail "$2: it had not begun"; return; }
	for i in $(seq 50); do
		somebody_runs "$1" || return 0
		sleep 0.1
	done
	fail "$2: somebody is left"
}
killed() # OPTIONS AND COMMAND
{
	rm -f killed
	"$PCL" "$@" sh -c 'readlink /proc/self/ns/pid > killed; exec sleep 100' > /dev/null 2>&1 &
	for i in $(seq 100); do
		[ -s killed ] && break
		sleep 0.1
	done
	kill -KILL $!; wait $! 2> /dev/null
	namespace_ends "$(cat killed)" "pcl $* was killed"
}
killed --pin=+pids
killed --pin=+pids --why
killed --pin=+pids count --
killed --pin=all count --
killed --pin=+pids --stats flame -o out.svg --
"$PCL" --pin=+pids sh -c 'readlink /proc/self/ns/pid; sleep 2 > /dev/null 2>&1 &' > daemon
somebody_runs "$(cat daemon)" || fail "no daemon"
namespace_ends "$(cat daemon)" "a daemon"

# The numbers of mounts: the namespace is a new one each time, and others take numbers meanwhile.
mounts() { "$PCL" --pin=+pids sh -c 'cd / && cut -d" " -f 1,2 /proc/self/mountinfo proc/$$/mountinfo'; }
mounts > one
unshare -rm sleep 100 & # others' numbers
sleep 0.3
mounts > two
kill $! && wait $! 2> /dev/null
cmp one two || fail "mounts have other numbers"
awk '$1 != NR + 1 && !second { second = NR - 1 } second && $1 != NR + 1 - second { exit 1 } $2 >= $1 { exit 1 }
	END { exit second * 2 != NR }' one || fail "the numbers of mounts: $(tr '\n' ' ' < one)"
"$PCL" cat /proc/self/mountinfo | cmp - /proc/self/mountinfo || fail "mounts without --pin"

# Clients.
"$PCL" --pin=pids check --baseline base.json --name a --update -- true > /dev/null &&
	"$PCL" --pin=pids check --baseline base.json --name a -- true > out || fail "pcl check: $(cat out)"
if command -v perf > /dev/null; then
	"$PCL" --pin=+pids perf stat -x, -e instructions:u sh -c 'true; /bin/true' 2>&1 |
		grep -q '^[0-9]*,,instructions:u' || fail "perf stat"
	"$PCL" --pin=+pids perf record -q -o data -e instructions:u -c 10000 sh -c 'echo $$ > pid; /bin/true; true' &&
		first=$("$PCL" perf script -i data -F pid 2> /dev/null | sort -nu | head -1 | tr -d ' ') &&
		[ "$first" = "$(cat pid)" ] || fail "perf record"
fi
exit $failed
