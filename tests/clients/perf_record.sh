# perf record: what is sampled, how often, and into which buffers. Call graphs, fields, side-band and attaching have
# scripts of their own.
[ "$(id -u)" = 0 ] || { echo "not root: -a and context switches in kernel mode"; exit 77; }
source "$ROOT/tests/clients/perf_functions.bash"
per=100003
every="-e instructions:u -c $per"
late=--mmap-flush=128K

# The count is exact, and so is the number of samples. (Without --per-thread there is an event for each CPU, with a
# period of its own.
# If perf reads the ring while it is written, some records may come twice: it asks for the end twice.)
"$PCL" perf stat -x, -o csv -e instructions:u -- "$shape" 500 || fail "perf stat"
samples=$(($(awk -F, '$3 ~ /instructions/ { print $1 }' csv) / per))
record --per-thread $late $every -- "$shape" 500
script -F period,ip,sym
between $samples $samples "$per +[0-9a-f]+ [^ ]"
most "$per +[0-9a-f]+ leaf"

# Frequencies, and what is sampled if nothing is said: cycles, without the kernel.
record -- "$shape" 80000
script -F event,ip,sym
most 'cycles:u: +[0-9a-f]+ leaf'
record -F 1000 -e instructions:u -- "$shape" 300000
script -F ip,sym
most leaf

# Several events at once, a group with one leader that samples, names that go by the cpu PMU, and the utmost precision.
record -e instructions:u,branches:u,cycles:u -c $per -- "$shape" 500
script -F event,ip,sym
for event in instructions branches cycles; do between 20 100000 "$event:u: +[0-9a-f]+ leaf"; done
record --per-thread $late -e '{instructions:u,branches:u}:S' -c $per -- "$shape" 500
script -F event,period
between $samples $samples "$per +instructions:u:"
between $((samples - 1)) $samples ' [0-9]{5} +branches:u:'
record -e cpu/instructions/u,cpu/branch-instructions,period=10007/u -c $per -- "$shape" 100
script -F event
between 15 100000 'instructions'
between 15 100000 'branch'
record -e instructions:uppp -c $per -- "$shape" 500
script -F ip,sym
most leaf

# Breakpoints: each write of a variable, each call of a function; and none at another's.
record $late -e "mem:0x$(nm "$shape" | sed -n 's/ [a-zA-Z] watched$//p'):w:u" -c 1 -- "$shape" 50
script -F ip,sym
between 50 50 ' touch$'
record $late -e "mem:0x$(nm "$shape" | sed -n 's/ T touch$//p'):x:u" -c 1 -- "$shape" 50
script -F ip,sym
between 50 50 ' touch$'

# Software events.
record -e cpu-clock:u -F 4000 -- "$shape" 90000
script -F ip,sym
most leaf
record -e task-clock:u -c 500000 -- "$shape" 90000
script -F period,ip,sym
most ' 500000 +[0-9a-f]+ leaf'
record -e page-faults:u -c 1 -- "$shape" 1
script -F event
between 20 100000 'page-faults'
record -e context-switches -c 1 -- sleep 0.1
script -F event
between 1 100000 'context-switches'

# Buffers: one page, many pages, overwritten by the latest, compressed, files that are changed for others, a limit to
# the file.
for how in '-m 1' '-m 512' -z --no-inherit --per-thread '--no-buffering' '-a' '-C 0-63' '--mmap-flush=4096'; do
	[ "$how" != '-C 0-63' ] || how="-C 0-$(($(getconf _NPROCESSORS_ONLN) - 1))"
	record $how $every -- "$shape" 500
	script -F comm,ip,sym
	between $((samples - 5)) $((samples + 4)) 'shape +[0-9a-f]+ [^ ]'
done
record --overwrite $every -- "$shape" 500
script -F ip,sym
most leaf
rm -f data.*
record --switch-output=100K --switch-max-files=3 -e instructions:u -c 1009 -- "$shape" 1000
set -- data.*
[ $# = 3 ] || fail "$what: $# files: $*"
mv "$1" data
script -F ip,sym
most leaf
what="perf record --max-size"
# Its program is ended by SIGTERM.
timeout -s KILL 30 "$PCL" perf record --no-bpf-event -q -o data --max-size=100K -e instructions:u -c 1009 \
	-- "$shape" 10000 2>err </dev/null
grep -q 'size limit reached' err || fail "$what: $(cat err)"
[ "$(stat -c %s data)" -lt 1000000 ] || fail "$what: $(stat -c %s data) bytes"
script -F ip,sym
most leaf
exit $status
