#!/bin/bash
# What the commands refuse: one line, and their own status, also where a sanitizer looks for what was not given back.
set -u
failed=0
echo '{' >bad.json
echo '{"pcl-baseline": 1, "benchmarks": {}}' >empty.json
echo '{"pcl-baseline": 1, "benchmarks": {"list": {"counts": {"instructions,branches": 1}}}}' >list.json

# refused STATUS COMMAND...
refused()
{
	want=$1
	shift
	"$PCL" "$@" >out 2>err
	got=$?
	[ $got = "$want" ] && [ "$(wc -l <err)" = 1 ] && grep -q '^pcl' err && [ ! -s out ] ||
		{ echo "$*: status $got, not $want, and says:"; head -n 20 err; failed=1; }
}
for file in bad.json empty.json missing.json; do
	refused 125 check -b $file -- true
done
refused 125 check -b empty.json -u -e no-such -- true
refused 125 check -b empty.json -u -e instructions,no-such -- true
refused 125 check -b list.json -n list -e cpu/event=0xfe/ -- true
refused 125 check -b empty.json -u -o no/such/place -- true
refused 125 check -b empty.json -u -t nan -- true
refused 127 check -b empty.json -u -- no-such-program
refused 125 count -e instructions,no-such -- true
refused 125 count -e cpu/event=0xfe/ -- true
refused 125 count -e cpu/event=0xfe/ --per-process -- true
refused 125 count -e cpu/event=0xfe/ --by-function -- true
refused 127 count -r 2147483647 -- no-such-program
refused 125 flame -o picture -e instructions,no-such -- true
refused 125 flame -o picture -e instructions,branches -- true
refused 125 flame -o picture -e 'sched:*' -- true
refused 125 count -e sched:sched_process_frok -- true
refused 125 flame -o picture -e task-clock -c 100 -- true
refused 125 flame -o picture -e cpu/event=0xfe/ -- true
refused 127 flame -o picture -- no-such-program
refused 125 flame -o /dev/full -- true
exit $failed
