# perf record of what runs already, by process and by thread, with delays and commands; and through a pipe. pcl runs the
# whole shell, so
# that perf and its target are in one session.
[ "$(id -u)" = 0 ] || { echo "not root: -a"; exit 77; }
source "$ROOT/tests/clients/perf_functions.bash"
export shape
every="-q --no-bpf-event -e instructions:u -c 1000003"

# inside COMMANDS: a shell under pcl with `target` running in the background as $p.
inside() {
	what=$1
	rm -f data
	timeout -s KILL 40 "$PCL" bash -c "$target & p=\$!
		$1
		kill \$p" 2>err </dev/null || fail "$what: status $?: $(head -n 3 err)"
}

target='"$shape" 0'
inside "sleep 0.1; perf record $every -o data -p \$p -- sleep 0.3"
script -F comm,ip,sym
most 'shape +[0-9a-f]+ leaf'
inside "sleep 0.1; perf record $every -g -o data -t \$p -- sleep 0.3"
report --no-children -g folded,0.5,caller -s sym
between 1 100 'main;work;outer;middle;leaf'
# Without a command of its own until SIGINT.
inside "sleep 0.1; perf record $every -o data -p \$p & r=\$!; while [ ! -s data ]; do sleep 0.1; done; sleep 0.5; kill -INT \$r; wait \$r; true"
script -F comm,ip,sym
most 'shape +[0-9a-f]+ leaf'
# All threads of a process, by the events of one of them alone, and with the clock.
target='"$shape" 0 2'
inside "sleep 0.1; perf record $every -o data -p \$p -- sleep 0.4"
script -F tid
[ "$(sort -u text | wc -l)" = 3 ] || fail "$what: not 3 threads: $(sort text | uniq -c)"
inside "sleep 0.1; t=\$(ls /proc/\$p/task | tail -n 1); echo \$t > tid; perf record $every --per-thread -o data -t \$t -- sleep 0.3"
script -F tid
most "^ *$(cat tid) *\$"
inside "sleep 0.1; perf record -q --no-bpf-event -e cpu-clock:u -F 999 -o data -p \$p -- sleep 0.3"
script -F comm,ip,sym
most 'shape +[0-9a-f]+ leaf'
# Everything in the session: the target and the shell.
target='"$shape" 0'
inside "sleep 0.1; perf record $every -a -o data -- bash -c 'for ((i = 0; i < 20000; i++)); do :; done'"
script -F comm
between 5 100000 shape
between 5 100000 bash

# A delay, and starting and stopping by command.
between_samples() { script -F comm; between "$1" "$2" shape; }
what='perf record -D 200'
record -e instructions:u -c 1000003 -D 200 -- bash -c "\"$shape\" 0 & sleep 0.5; kill \$!"
between_samples 20 100000
rm -f control ack; mkfifo control ack
inside "exec 8<>control 9<>ack; sleep 0.1
	perf record $every -D -1 --control fd:8,9 -o data -p \$p -- sleep 20 & r=\$!
	echo enable >&8; read -r a <&9; sleep 0.2; echo disable >&8; read -r a <&9; echo stop >&8; wait \$r; true"
between_samples 20 100000
inside "sleep 0.1
	perf record $every -D -1 --control fifo:control,ack -o data -p \$p -- sleep 20 & r=\$!
	exec 8<>control 9<>ack; echo enable >&8; read -r a <&9; sleep 0.2; echo stop >&8; read -r a <&9; wait \$r; true"
between_samples 20 100000

# Through a pipe.
what='perf record -o - | perf script -i -'
timeout -s KILL 30 "$PCL" perf record --no-bpf-event -q -e instructions:u -c 100003 -o - -- "$shape" 500 2>err |
	perf script -i - -F comm,ip,sym >text 2>err2 || fail "$what: $(cat err err2)"
most 'shape +[0-9a-f]+ leaf'
what='perf record | perf inject | perf report'
timeout -s KILL 30 "$PCL" perf record --no-bpf-event -q -e instructions:u -c 100003 -o - -- "$shape" 500 2>err |
	perf inject -b 2>>err | perf report -i - --stdio -s sym 2>>err | grep -v '^#' >text
between 1 1 '(9[0-9.]+|100.00)% +\[\.\] leaf'
exit $status
