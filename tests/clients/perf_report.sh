# What the other commands of perf make of recorded files: annotate, script with all fields and a Python script, inject,
# diff, report by all
# keys, mem; and names of code that a JIT compiler made.
source "$ROOT/tests/clients/perf_functions.bash"
every="-e instructions:u -c 100003"

record -g --sample-cpu -T $every -- "$shape" 300
what='perf annotate'
timeout 60 perf annotate -i data --stdio -s leaf >text 2>err </dev/null || fail "$what: status $?: $(head -n 3 err)"
between 1 1 'Percent \|.*Disassembly of shape'
between 3 1000 '^ +[0-9]+\.[0-9]+ +.*:? +4011[0-9a-f]+:|^ +[0-9]+\.[0-9]+ '
# Of the loop's 8 to 10 instructions none has more than half: each has its share.
awk '$1 ~ /^[0-9.]+$/ && $1 > 50 { bad = 1 } END { exit bad }' text ||
	fail "$what: one instruction has more than half: $(grep -E '^ +[0-9.]+' text | head -n 12)"
script -F comm,pid,tid,cpu,time,event,period,ip,sym,symoff,dso,srcline
between 20 10000 'leaf\+0x[0-9a-f]+ \(.*/shape\)'
between 20 10000 'shape\.c:[0-9]+'
report --no-children -s comm,dso,sym,srcline -n
between 1 1000 'shape +shape +\[\.\] leaf +shape\.c:'
report --no-children -g none -F overhead,sample,period,cpu,pid,sym
between 1 1000 '[0-9.]+% +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:shape +\[\.\] leaf'
cat >count.py <<'PY'
n = {}
def process_event(d):
    n[d.get("symbol")] = n.get(d.get("symbol"), 0) + 1
def trace_end():
    print(" ".join("%s %d" % (k, v) for k, v in n.items() if v > 20))
PY
if perf script -i data -s count.py >text 2>err </dev/null; then
	between 1 1 'leaf [0-9]+'
fi

what='perf diff'
cp data first
record $every -- "$shape" 300
timeout 60 perf diff first data >text 2>err </dev/null || fail "$what: status $?: $(head -n 3 err)"
between 1 1 '^ +(9|10)[0-9.]+% +.*shape +\[\.\] leaf'

what='perf inject -b'
timeout 60 perf inject -b -i data -o injected 2>err </dev/null || fail "$what: status $?: $(head -n 3 err)"
perf buildid-list -i injected >text 2>err
between 1 1 "$(readelf -n "$shape" | sed -n 's/.*Build ID: //p') .*/shape"

# perf mem wants events of Intel's or AMD's own; it says so.
what='perf mem record'
timeout -s KILL 30 "$PCL" perf mem record -o mem.data -- "$shape" 10 >text 2>&1 </dev/null &&
	fail "$what: accepted: $(head -n 3 text)"
grep -qE 'not supported|failed' text || fail "$what: $(head -n 3 text)"

# perf looks for names in the file that the process has written.
what='names of a JIT compiler'
if command -v node >/dev/null; then
	echo 'function hotspot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * i) % 1000003; return s } let x = 0; for (let i = 0; i < 300; i++) x += hotspot(100000); console.log(x)' >hot.js
	record -g -e cycles:u -F 2000 -- node --perf-basic-prof hot.js
	pid=$(perf script -i data -F pid 2>/dev/null | head -n 1 | tr -d ' ')
	report --no-children -g none -s sym
	between 1 3 '^ +[2-9][0-9.]+% +\[\.\] .*hotspot'
	rm -f "/tmp/perf-$pid.map"
fi
if python3 -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null; then
	echo 'def hotspot(n):
    return sum(i * i for i in range(n))
hotspot(300000)' >hot.py
	record -g -e cycles:u -F 2000 -- python3 -X perf hot.py
	pid=$(perf script -i data -F pid 2>/dev/null | head -n 1 | tr -d ' ')
	script -F ip,sym
	between 20 100000 'py::hotspot:'
	rm -f "/tmp/perf-$pid.map"
fi
exit $status
