# perf stat over a shell that starts many programs: all are counted, and the parts add up.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
count()
{
	"$PCL" perf stat -x, -o csv -e instructions:u,branches:u -- "$@" >/dev/null || echo "fails: $*"
	awk -F, '$3 ~ /:u/ { print $1 }' csv | tr '\n' ' '
}
export -n LINES COLUMNS
program=$BUILD/tests/count/hello_static
read -r one_i one_b <<< "$(count "$program")"
read -r few_i few_b <<< "$(count "$BUILD/tests/clients/runner" 100 "$program")"
read -r more_i more_b <<< "$(count "$BUILD/tests/clients/runner" 200 "$program")"
read -r most_i most_b <<< "$(count "$BUILD/tests/clients/runner" 300 "$program")"
echo "one $one_i, 100 $few_i, 200 $more_i, 300 $most_i"
status=0
# Each further child costs the same: its own instructions and the runner's for starting it, which are few.
[ $((most_i - more_i)) = $((more_i - few_i)) ] || { echo "instructions do not grow evenly"; status=1; }
[ $((most_b - more_b)) = $((more_b - few_b)) ] || { echo "branches do not grow evenly"; status=1; }
per=$(((more_i - few_i) / 100))
[ $per -gt "$one_i" ] && [ $per -lt $((one_i + 2000)) ] ||
	{ echo "$per per child, of which the program is $one_i"; status=1; }
# Without inheritance only the runner itself is counted: the difference is the children's share.
"$PCL" perf stat -i -x, -o csv -e instructions:u -- "$BUILD/tests/clients/runner" 200 "$program" > /dev/null || status=1
alone=$(awk -F, '$3 ~ /:u/ { print $1 }' csv)
[ $((more_i - alone)) -ge $((200 * one_i)) ] && [ $((more_i - alone)) -lt $((200 * (one_i + 1000))) ] ||
	{ echo "without inheritance $alone"; status=1; }
# bash, whose own count may depend on the clock and on process numbers: every child is in it.
read -r bash_i bash_b <<< "$(count bash -c 'for i in $(seq 200); do /bin/true; done')"
read -r true_i true_b <<< "$(count /bin/true)"
[ "$bash_i" -gt $((200 * true_i)) ] && [ "$bash_b" -gt $((200 * true_b)) ] ||
	{ echo "bash $bash_i, true $true_i"; status=1; }
exit $status
