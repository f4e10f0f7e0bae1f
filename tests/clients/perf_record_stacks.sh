# pcl --call-stacks: call chains of code without frame pointers (stacks.cc), as they are, whatever became of the stack.
source "$ROOT/tests/clients/perf_functions.bash"
command -v g++ >/dev/null || { echo "no g++"; exit 77; }
g++ -O2 -g -fomit-frame-pointer -fno-inline -static -pthread -o stacks "$ROOT/tests/clients/stacks.cc" || fail g++

# chains COMMAND...: the chains of samples, one a line, innermost first.
chains() {
	what="pcl --call-stacks perf record -g $*"
	timeout -s KILL 30 "$PCL" --call-stacks perf record --no-bpf-event -q -o data -g -e instructions:u -c 20011 \
		-- "$@" >out 2>err </dev/null ||
		fail "$what: status $?: $(head -n 3 err)"
	script -F ip,sym
	fold '^spin;'
}
rest='main;__libc_start_call_main;__libc_start_main(_impl|@@GLIBC_[0-9.]+)?;_start$'

# all PATTERN: every one is of that form, and there are some.
all() {
	local odd
	[ "$(wc -l <text)" -ge 20 ] || fail "$what: only $(wc -l <text) chains"
	odd=$(grep -vE -- "$1" text) &&
		fail "$what: $(wc -l <<<"$odd") of $(wc -l <text) are not $1: $(sort <<<"$odd" | uniq -c | head -n 3)"
}

chains ./stacks recursion
all "^spin;(recursion;){6}$rest"
chains ./stacks tail
all "^spin;target;before_tail;$rest"
chains ./stacks longjmp
all "^spin;after_jump;$rest"
chains ./stacks exception
all "^spin;after_throw;$rest"
chains ./stacks signal
all "^spin;handler;__restore_rt;.*raise;interrupted;$rest"
chains ./stacks thread
all '^spin;recursion;recursion;recursion;in_thread;start_thread;'
chains ./stacks coroutine
all "^spin;inside;(first_of_two|second_of_two)(;|$)"

# A program of which nobody knows what to expect: every chain goes back to where it began.
if command -v python3 >/dev/null; then
	what='pcl --call-stacks perf record -g python3'
	timeout -s KILL 30 "$PCL" --call-stacks perf record --no-bpf-event -q -o data -g -e instructions:u -c 500009 -- \
		python3 -c 'sorted((str(i * 7919 % 1000) for i in range(100000)), key=lambda s: s[::-1])' \
		2>err </dev/null || fail "$what: $(cat err)"
	script -F ip,sym
	fold .
	most '(^|;)_start$'
fi

# Attached: calls that are older than the event are found by frame pointers, if there are any.
what='pcl --call-stacks perf record -g -p'
timeout -s KILL 40 "$PCL" --call-stacks bash -c '"$1" 0 & p=$!; sleep 0.2
	perf record --no-bpf-event -q -o data -g -e instructions:u -c 1000003 -p $p -- sleep 0.3; kill $p' \
	bash "$shape" 2>err </dev/null || fail "$what: $(cat err)"
script -F ip,sym
fold '^leaf;'
most '^leaf;middle;outer;work;main;__libc_start_call_main'
exit $status
