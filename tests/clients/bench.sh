# `make bench` runs to its end: one program, samples into rings, and two threads. What it measures decides nothing.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
ROUNDS=1 PEERS=no "$ROOT/bench/run" "$BUILD" pair samples threads > out 2> errors || { cat out errors; exit 1; }
for line in '^pair .* s +([0-9.]+|-)( +[0-9.]+){6}$' '^-F 4000 over counted, with all' '^pcl, every 1000 .* 0 lost$' \
	'^every 1000 .* times$'; do
	grep -qE "$line" out || { echo "no line: $line"; cat out errors; exit 1; }
done
