# perf stat in its forms: text and csv, repeats, groups, per-thread, an existing process, delays, intervals; perf list.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
status=0
fail() { echo "$*"; status=1; }
threads=$BUILD/tests/count/threads_total
"$PCL" perf stat -e instructions,branches -o text -- "$threads" > /dev/null || fail "plain: $?"
grep -qE '^ +[0-9,]+ +instructions:u' text && grep -qE 'branches:u' text || { fail "text"; cat text; }
grep -q 'not supported' text && fail "not supported"
"$PCL" perf stat -r 3 -x, -o csv -e instructions:u -- "$threads" > /dev/null || fail "repeat"
grep -qE '^[0-9]+,,instructions:u,0\.00%' csv || { fail "repeats differ"; cat csv; }
"$PCL" perf stat -x, -o csv -e '{instructions:u,branches:u}' -- "$threads" > /dev/null || fail "group"
awk -F, '$1 ~ /^[0-9]+$/ { n++ } END { exit n != 2 }' csv || { fail "group"; cat csv; }
"$PCL" perf stat -o text -- "$threads" > /dev/null || fail "default events"
grep -qE '[0-9] +instructions' text || { fail "default events"; cat text; }
# attach to a running guest of the same session
"$PCL" bash -c \
	'while :; do :; done & p=$!; perf stat -x, -o csv -e instructions:u,task-clock -p $p -- sleep 0.3; kill $p' \
	2> err || fail "attach: $(cat err)"
awk -F, '$1 ~ /^[0-9.]+$/ { n++ } END { exit n != 2 }' csv || { fail "attach"; cat csv; }
"$PCL" perf stat -x, -o csv -I 100 -e instructions:u -- sleep 0.5 2> err || fail "interval: $(cat err)"
[ "$(grep -c instructions csv)" -ge 4 ] || { fail "interval"; cat csv; }
"$PCL" perf stat -x, -o csv -D 50 -e instructions:u -- sleep 0.2 || fail "delay"
"$PCL" perf stat -x, -o csv -e instructions:k -- true 2> err
awk -F, '/instructions:k/ && $1 ~ /^[0-9]+$/ { exit 1 }' csv || { fail "kernel instructions were counted"; cat csv; }
"$PCL" perf stat -e no-such-event -- true 2> err && fail "unknown event accepted"
"$PCL" perf list hw 2>/dev/null | grep -q instructions || fail "perf list"
exit $status
