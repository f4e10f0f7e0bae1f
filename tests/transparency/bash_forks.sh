# 500 forks, and pipelines, command substitution, arithmetic, traps.
$RUN bash -c '
n=0
for i in $(seq 500); do (exit $((i % 7))); n=$((n + $?)); done
echo $n
seq 1000 | while read x; do [ $((x % 250)) = 0 ] && echo $x; done
trap "echo trapped" USR1
kill -USR1 $$
echo "$(echo a b c | tr a-z A-Z | rev)"
wait
exit 42'
echo $?
