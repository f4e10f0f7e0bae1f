# Deaths by signals with their default action lose and invent nothing: see fatal_signal.c. The loop has four
# instructions.
status=0
for signal in 15 2 14 9; do
	spread=$("$PCL" "$BUILD/tests/kill/fatal_signal" $signal | sed -n 's/^spread //p')
	[ -n "$spread" ] && [ "$spread" -le 3 ] || { echo "signal $signal: spread '$spread'"; status=1; }
done
exit $status
