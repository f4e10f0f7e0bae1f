#!/bin/bash
# pcl count: the same numbers as perf stat's, the forms of its output, what it is given, what it refuses and in which
# words.
set -u
status=0
fail() { echo "$*"; status=1; }
programs=$BUILD/tests/count

# counted EVENTS PROGRAM...: the counts, one a line.
counted()
{
	events=$1
	shift
	"$PCL" count --csv -o csv -e "$events" -- "$@" >/dev/null || fail "count $*: $?"
	awk -F, 'NR > 1 { print $5 }' csv
}

# perf gives its program other environment variables; with the same ones the counts are the same, to the unit.
equals_perf()
{
	events=instructions:u,branches:u,cycles:u,cpu/calls/u,cpu/mem_loads/u,syscalls:sys_enter_write
	"$PCL" perf stat -x, -o perf_csv -e $events -- "$@" >/dev/null || fail "perf stat $*: $?"
	mapfile -d '' environment < <("$PCL" perf stat -x, -o /dev/null -e instructions:u -- env -0)
	env -i "${environment[@]}" "$PCL" count --csv -o csv -e $events -- "$@" >/dev/null || fail "count $*: $?"
	want=$(awk -F, '$1 ~ /^[0-9]+$/ { print $1 }' perf_csv)
	got=$(awk -F, 'NR > 1 { print $5 }' csv)
	[ "$want" = "$got" ] && [ "$(wc -l <<<"$got")" = 6 ] || fail "$*: perf stat says" $want ", pcl count" $got
}

if command -v perf >/dev/null; then
	equals_perf "$programs/hello_static"
	equals_perf "$programs/threads_total"
	equals_perf "$BUILD/tests/clients/runner" 20 "$programs/hello_static"
	equals_perf ls /
	# The first process's share is what perf counts without inheritance.
	"$PCL" perf stat -i -x, -o perf_csv -e instructions:u \
		-- "$BUILD/tests/clients/runner" 5 "$programs/hello_static" >/dev/null
	env -i "${environment[@]}" "$PCL" count --per-process --csv -o csv -e instructions \
		-- "$BUILD/tests/clients/runner" 5 "$programs/hello_static" >/dev/null
	want=$(awk -F, '$1 ~ /^[0-9]+$/ { print $1 }' perf_csv)
	got=$(awk -F, '/^pid/ { getline; print $4 }' csv)
	[ -n "$want" ] && [ "$want" = "$got" ] && [ "$(wc -l <csv)" = 10 ] ||
		fail "the first process: perf says $want, pcl count: $(cat csv)"
fi

# Nothing of the client is counted: it costs the same under another one, and in a session that is there already.
alone=$(counted instructions,branches "$programs/hello_static")
[ "$(counted instructions,branches "$programs/hello_static")" = "$alone" ] || fail "the second run differs"
"$PCL" sh -c '"$0" count --csv -o csv -e instructions,branches -- "$1" >/dev/null' "$PCL" "$programs/hello_static"
[ -n "$alone" ] && [ "$(awk -F, 'NR > 1 { print $5 }' csv)" = "$alone" ] ||
	fail "other counts inside of a session: $(cat csv)"

# The grammar.
rows() { awk -F, 'NR > 1 { print $1 }' csv | tr '\n' ' '; }
counted '{instructions,branches}:u,r12,cpu/calls/u,cpu/event=0x12,name=mine/,calls' "$programs/hello_static" >values
[ "$(rows)" = "instructions branches r12 cpu/calls/ mine calls " ] || fail "names: $(rows)"
[ "$(sed -n 3,6p values | sort -u | wc -l)" = 1 ] && [ "$(sed -n 1,2p values)" = "$alone" ] ||
	fail "four names of one event: $(cat values)"
"$PCL" count -e instructions,branches -e '{cpu/calls/,r12}' --events=page-faults --csv -o csv \
	-- "$programs/hello_static" >/dev/null || fail "several -e: $?"
[ "$(rows)" = "instructions branches cpu/calls/ r12 page-faults " ] || fail "several -e: $(rows)"
if [ "$(id -u)" = 0 ]; then # raw_syscalls:sys_enter happens in kernel mode
	counted 'raw_syscalls:*,syscalls:sys_enter_w*' "$programs/hello_static" >values
	[ "$(awk -F, '/sys_enter_write,/ { print $5 }' csv)" = 1 ] && [ "$(rows | wc -w)" -ge 5 ] ||
		fail "tracepoints: $(cat csv)"
	counted 'sched:*,task:task_newtask,signal:signal_deliver,exceptions:page_fault_user' \
		sh -c 'trap : USR1; kill -USR1 $$; /bin/true; :' >values
	[ "$(rows)" = "sched:sched_process_exec sched:sched_process_exit sched:sched_process_fork task:task_newtask \
signal:signal_deliver exceptions:page_fault_user " ] || fail "tracepoints of tasks: $(rows)"
	awk -F, '{ n[$1] = $5 } END { exit !(n["sched:sched_process_fork"] == 1 && n["task:task_newtask"] == 1 &&
		n["sched:sched_process_exec"] == 2 && n["sched:sched_process_exit"] == 2 &&
		n["signal:signal_deliver"] == 2 && n["exceptions:page_fault_user"] > 5) }' csv ||
		fail "tracepoints of tasks: $(cat csv)"
	for name in $("$PCL" list | awk '$1 ~ /^(sched|task|signal|exceptions):/ { print $1 }'); do
		"$PCL" count --csv -o csv -e "$name" -- true || fail "$name is listed: $?"
	done
fi
main=0x$(nm "$programs/hello_static" | awk '$3 == "main" { print $1 }')
[ "$(counted "mem:$main:x" "$programs/hello_static")" = 1 ] || fail "main was not executed once: $(cat csv)"

"$PCL" --why=why count -e instructions,mem:$main:x -- "$programs/hello_static" >/dev/null 2>&1
grep -q perf_event_open why && { fail "pcl count was refused something"; cat why; }

# The forms: table, JSON, standard output, several runs.
"$PCL" count -- "$programs/hello_static" 2>table >/dev/null || fail "table: $?"
for row in 'instructions +exact$' 'branches +exact +[0-9.]+ % of instructions$' \
	'cycles +modelled +[0-9.]+ instructions per cycle$' 'task-clock +measured +[0-9.]+ CPUs used$' \
	'page-faults +measured$' 'elapsed; all threads and child processes counted$'; do
	grep -qE "$row" table || { fail "no row like $row"; cat table; }
done
"$PCL" count -j -o - -r 3 -e instructions,page-faults -- "$programs/hello_static" >json || fail "JSON: $?"
sed -i '/^hello/s/^[^{]*//' json # the program's own output
python3 - json <<-'END' || { fail "JSON"; cat json; }
	import json, sys
	text = open(sys.argv[1]).read()
	d = json.loads(text[text.index("{"):])
	first = d["events"][0]
	assert d["runs"] == 3 and d["status"] == 0 and len(d["elapsed_ns"]) == 3 and min(d["elapsed_ns"]) > 0 and len(d["command"]) == 1
	assert first["event"] == "instructions" and first["class"] == "exact" and first["same"] is True
	assert len(first["values"]) == 3 and first["values"] == [first["count"]] * 3 and first["count"] > 10000
	assert d["events"][1]["class"] == "measured"
END
"$PCL" count -r 4 -e instructions,task-clock -o table -- "$programs/hello_static" >/dev/null || fail "runs: $?"
grep -qE 'instructions +exact +the same in all runs' table &&
	grep -qE 'ms +[0-9.]+ ms +[0-9.]+ ms +task-clock +measured +differs by' table ||
	{ fail "runs"; cat table; }
# A program that is not the same twice.
"$PCL" count -r 3 -e instructions -o table -- bash -c 'echo x >>grown; while read -r l; do :; done <grown' ||
	fail "growing: $?"
grep -qE 'instructions +exact +differs by 0*[0-9.]*[1-9]' table || { fail "growing"; cat table; }

# Shares: they add up to what is counted together, processes and threads.
"$PCL" count --per-process --csv -o csv -e instructions,branches \
	-- bash -c "$programs/hello_static; $programs/threads_total; :" >/dev/null || fail "shares: $?"
awk -F, '/^instructions/ { i = $5 } /^branches/ { b = $5 } /^pid/ { on = 1; next } on { n++; si += $4; sb += $5; names = names $3 " " }
	END { exit !(n == 3 && i == si && b == sb && names == "bash hello_static threads_total ") }' csv ||
	{ fail "processes"; cat csv; }
[ "$(awk -F, '$3 == "hello_static" { print $4 }' csv)" -gt 5000 ] || { fail "hello_static"; cat csv; }
"$PCL" count --per-thread --csv -o csv -e instructions -- "$programs/threads_total" >/dev/null || fail "threads: $?"
awk -F, '/^instructions/ { i = $5 } /^pid/ { on = 1; next } on { n++; s += $4; pid[$1] = 1 } END { exit !(n > 2 && i == s && length(pid) == 1) }' csv ||
	{ fail "threads"; cat csv; }

# Arguments may be any bytes: JSON stays UTF-8, and the table's heading one line without control characters.
bytes=$(printf 'caf\xe9\xff \xc3\xa9 \n\x1b[31m')
"$PCL" count -e instructions --json -o json -- true "$bytes" && python3 - json <<-'END' || { fail "JSON, bytes"; cat json; }
	import json, sys
	assert json.loads(open(sys.argv[1], "rb").read().decode())["command"][1] == "caf\ufffd\ufffd \xe9 \n\x1b[31m"
END
"$PCL" count -e instructions -o table -- true "$bytes" &&
	grep -qxF ' pcl count: true caf\xe9\xff é \n\x1b[31m' table || { fail "the heading"; cat -v table; }

# Tasks that go on when the program has ended are not counted to their end, which each form says.
orphan='(sleep 2) >/dev/null 2>&1 & :'
said='went on when the program had ended: what (it|they) did then is not counted'
"$PCL" count -e instructions -o table -- sh -c "$orphan" && grep -qE "^ [12] tasks? $said\$" table &&
	grep -q 'elapsed; threads and child processes counted until the program.s end$' table ||
	{ fail "orphans, table:"; cat table; }
"$PCL" count -e instructions --per-process -o table -- sh -c "$orphan" && grep -qE "^ [12] tasks? $said; what came" table ||
	{ fail "orphans, --per-process:"; cat table; }
"$PCL" count -e instructions --by-function -o table -- sh -c "$orphan" && grep -qE "$said" table ||
	{ fail "orphans, --by-function:"; cat table; }
"$PCL" count -e instructions -r 2 -o table -- sh -c "$orphan" &&
	grep -q '^ tasks went on when the program had ended, in 2 of 2 runs' table || { fail "orphans, runs:"; cat table; }
"$PCL" count -e instructions --json -o json -- sh -c "$orphan" && grep -qE '"still_running":[12],' json ||
	{ fail "orphans, JSON:"; cat json; }
"$PCL" count -e instructions --csv -o csv -- sh -c "$orphan" 2>err && grep -qE "^pcl count: .*$said" err ||
	{ fail "orphans, CSV:"; cat err; }
"$PCL" check -u -b orphans.json -- sh -c "$orphan" 2>err && grep -qE "^ [12] tasks? $said\$" err ||
	{ fail "orphans, check:"; cat err; }
"$PCL" count -e instructions --json -o json -- python3 -c 'import os, signal, time
child = os.fork()
if not child:
    signal.pause()
os.kill(child, signal.SIGKILL)
time.sleep(0.3)' && grep -q '"still_running":0,' json ||
	{ fail "a child that was killed, and not waited for:"; cat json; }
"$PCL" count -e instructions --json -o json -- sh -c 'sleep 0.1 & sleep 0.1 | cat & wait' &&
	grep -q '"still_running":0,' json || { fail "no orphans:"; cat json; }

# Nor are processes that give up their user, which is said as well, unless they stay.
become="setpriv --reuid=1 --clear-groups true"
said='^ 2 processes gave up their user: what they did from then on is not counted'
if $become 2>/dev/null; then
	"$PCL" count -e instructions -o table -- sh -c "$become; $become; :" 2>/dev/null && grep -q "$said" table &&
		grep -q 'elapsed; not all threads and child processes counted$' table || { fail "another user:"; cat table; }
	"$PCL" count -e instructions --json -o json -- $become 2>/dev/null && grep -q '"gave_up_user":1,' json ||
		{ fail "another user, JSON:"; cat json; }
	"$PCL" count -e instructions --csv -o csv -- sh -c "$become; $become; :" 2>&1 | grep -q "^pcl count:${said#^}" ||
		fail "another user, CSV"
	"$PCL" check -u -b users.json -- sh -c "$become; $become; :" 2>&1 | grep -q "$said" || fail "another user, check"
	"$PCL" --users=any count -e instructions -o table -- $become && ! grep -q 'user' table ||
		{ fail "--users=any:"; cat table; }
fi

# The status is the program's, also of the run that fails; standard input is too.
ends() { want=$1; shift; "$PCL" count -o table "$@" 2>err; got=$?; [ $got = "$want" ] ||
	fail "$*: status $got, not $want: $(cat err)"; }
ends 0 -- true
ends 7 -- sh -c 'exit 7'
grep -q 'ended with status 7' table || fail "the status is not said"
ends 3 -r 5 -- sh -c 'exit 3'
ends 143 -- sh -c 'kill -TERM $$' 2>/dev/null
grep -q 'ended by signal 15' table || fail "the signal is not said"
ends 127 -- no-such-program
ends 126 -- /tmp
[ "$(echo text | "$PCL" count -o table -- cat)" = text ] || fail "standard input"
"$PCL" count -o table -- sleep 30 & # a signal to pcl is one to the program
sleep 1
kill -TERM $!
wait $! 2>/dev/null
[ $? = 143 ] && grep -q 'ended by signal 15' table || fail "SIGTERM"

# The program gets the signals, ignored and blocked, and the descriptors that it would have natively, in each run.
seen='grep -E "^Sig(Blk|Ign)" /proc/self/status; ls /proc/self/fd'
native=$(trap '' HUP USR1; bash -c "$seen")
got=$(trap '' HUP USR1; "$PCL" count -r 2 -o table -- bash -c "$seen")
[ "$got" = "$native"$'\n'"$native" ] || fail "seen natively: $native; under pcl count: $got"

# Ctrl-C in a terminal: the program ends, then the table comes, and pcl ends as the program did. As under a shell, pcl
# is not the session's leader: when the leader ends, the terminal drops what nobody has read yet.
python3 - "$PCL" <<'END' || fail "Ctrl-C"
import os, pty, signal, sys, termios
leader, terminal = pty.fork()
if leader == 0:
    signal.signal(signal.SIGINT, lambda *_: None)
    settings = termios.tcgetattr(0)
    settings[3] |= termios.NOFLSH # else the terminal may drop what comes soon after Ctrl-C
    termios.tcsetattr(0, termios.TCSANOW, settings)
    status = os.spawnv(os.P_WAIT, sys.argv[1],
        [sys.argv[1], "count", "-r", "3", "-e", "instructions", "--", "sh", "-c", "echo begun; exec sleep 30"])
    print("spawnv:", status, flush=True)
    signal.pause()
text = b""
while not (b"spawnv:" in text and text.endswith(b"\n")):
    text += os.read(terminal, 4096)
    if b"begun\r" in text: # not the heading of the table
        os.write(terminal, b"\x03")
        text = text.replace(b"begun\r", b"")
os.kill(leader, signal.SIGKILL)
assert b"spawnv: -2\r" in text and b"ended by signal 2" in text and b"exact" in text, text
END

# refused 'WORDS' OPTION...: nothing is run, and that is why.
refused()
{
	want=$1
	shift
	got=$("$PCL" count "$@" -- echo was run 2>&1)
	[ $? = 125 ] || fail "$*: status is not 125"
	case $got in
	*"was run"*) fail "$* was run" ;;
	*"$want"*) ;;
	*) fail "$*: says $got" ;;
	esac
}
refused 'is instructions meant?' -e instuctions
refused 'is page-faults meant?' -e page-fualts
refused 'no event is called qwertyuiop (see' -e qwertyuiop
refused 'kernel mode is invisible' -e instructions:k
refused 'no model of TLBs' -e dTLB-loads
refused 'is syscalls:sys_enter_openat meant?' -e syscalls:sys_enter_opneat
refused 'sched has no tracepoint sched_switch (see pcl list)' -e sched:sched_switch
refused 'no tracepoints of block' -e block:block_rq_issue
refused 'is sched:sched_process_fork meant?' -e sched:sched_process_frok
refused 'there is no PMU uncore' -e uncore/clockticks/
refused 'not a term' -e cpu/depth=3/
refused 'pcl does not count it' -e cpu/event=0xfe/
refused 'a length is missing' -e mem:0x401000/:w
refused 'not a term' -e cpu/event=1,name=/
refused 'not a breakpoint' -e mem:0x401000/3:w
refused '} is missing' -e '{instructions'
refused 'a group inside' -e '{instructions,{branches}}'
refused "event's name is missing" -e instructions,
refused 'not one of' -e instructions:z
refused 'above 0' -r 0
refused 'wrong option -r many: the form is --runs=N, a whole number of at most 2147483647' -r many
refused 'the form is --runs=N' -r 2147483648
refused 'the form is --runs=N' --runs=
refused 'the form is --events=LIST' -e
refused 'is --json meant?' --jsn
refused 'stands in front of the command' --aslr
refused 'two forms' --json --csv
refused 'of one run' --per-thread -r 2
refused 'No such file' -o /no/such/place

# A program that the kernel kills before its first instruction: the reason is said, and the status is the program's.
head -c 3000 "$(command -v true)" >cut && chmod +x cut
if bash -c ./cut >/dev/null 2>&1; [ $? = 139 ]; then
	for form in -r1 --by-function --per-process --per-thread; do
		"$PCL" count $form -e instructions -o table -- ./cut 2>err
		[ $? = 139 ] && grep -q 'uncounted  never counted: the program ended before its first instruction' table ||
			{ fail "no instruction, $form:"; cat table err; }
	done
	"$PCL" flame -o cut.svg -- ./cut 2>err
	[ $? = 139 ] && grep -qx 'pcl flame: nothing was counted: the program ended before its first instruction' err ||
		{ fail "no instruction, pcl flame:"; cat err; }
fi

got=$("$PCL" --counters=1 count -e '{instructions,branches}' -- echo was run 2>&1)
[ $? = 125 ] && [ "$got" = "pcl: branches: its group has more events than there are counters (--counters)" ] ||
	fail "a group that is too large: $got"

# The longest class has its column, too.
"$PCL" --counters=1 count -e instructions,branches,cycles -o table -- "$BUILD/tests/clients/runner" 3 \
	"$programs/hello_static" >/dev/null
grep -E '(estimated|uncounted) ' table | grep -vE '(estimated|uncounted)  [^ ]' &&
	{ fail "no room behind a class"; cat table; }
grep -qE '(estimated|uncounted)  ' table || { fail "three events share one counter"; cat table; }

# An ordinary user in a container: the same counts; what happens in kernel mode is refused in words, or counted where
# that is allowed.
# The user may not be able to reach the tree: give it a copy.
chmod 755 . && mkdir tree && cp "$(readlink -f "$PCL")" tree/pcl &&
	cp "$(readlink -f "$PCL")rt" "$programs/hello_static" tree/ && chmod -R a+rX tree || fail "copies for an ordinary user"
seq 1000 >kept
"$PCL" count -o kept -- no-such-program 2>err
[ $? = 127 ] && [ "$(wc -l <kept)" = 1000 ] || fail "what was in the file is gone, and nothing is there for it"
"$PCL" count -e instructions -o kept -- true && [ "$(wc -l <kept)" -lt 20 ] || fail "something of the old file is left"
ordinary() { "$BUILD/tests/restricted/restrict" "$PWD/tree/pcl" "$@"; }
ordinary count -e instructions,branches,cycles,task-clock,page-faults,mem:$main:x,syscalls:sys_enter_write \
	--csv -o - -- "$PWD/tree/hello_static" >csv || fail "ordinary user: $?"
awk -F, '$2 ~ /exact|modelled|measured/ { n++; if (!$5) exit 1 } END { exit n != 7 }' csv ||
	{ fail "ordinary user"; cat csv; }
for event in context-switches raw_syscalls:sys_enter instructions:uk; do
	ordinary count -e $event -- echo was run >out 2>err
	[ $? = 125 ] && grep -q 'kernel mode' err && [ ! -s out ] || fail "ordinary user, $event: $(cat out err)"
done
[ "$(ordinary --paranoid=1 count --csv -o - -e raw_syscalls:sys_enter,context-switches -- true |
	awk -F, '/^raw/ { print ($5 > 5) }')" = 1 ] || fail "--paranoid=1"
exit $status
