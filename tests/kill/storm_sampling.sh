# 300 SIGKILLs of sampling processes at random moments, with a reader of their rings; afterwards nothing of the session
# is left.
[ "$(id -u)" = 0 ] || { echo "not root: rings on each CPU"; exit 77; }
"$PCL" "$BUILD/tests/kill/storm_sampling" 300
status=$?
[ $status = 0 ] || exit $status
sleep 0.2
left=$(pgrep -s 0 -f "$BUILD/tests/kill/storm_sampling" | wc -l)
[ "$left" = 0 ] || { echo "$left processes are left"; exit 1; }
for p in $(pgrep -s 0); do grep -l 'memfd:pcl' /proc/$p/maps 2>/dev/null; done |
	grep . && { echo "a session is left"; exit 1; }
exit 0
