# 500 SIGKILLs at random moments, 200 of the debug build; afterwards nothing of the session is left.
case $PCL in */dbg/pcl) victims=200 ;; *) victims=500 ;; esac
"$PCL" "$BUILD/tests/kill/storm" $victims
status=$?
[ $status = 0 ] || exit $status
# Forked processes whose code cache is not a copy.
"$PCL" --dual-map "$BUILD/tests/kill/storm" 40 || exit 1
sleep 0.2
left=$(pgrep -s 0 -f "$BUILD/tests/kill/storm" | wc -l)
[ "$left" = 0 ] || { echo "$left processes are left"; exit 1; }
# Memory: the session's shared file went with its last member.
for p in $(pgrep -s 0); do grep -l 'memfd:pcl' /proc/$p/maps 2>/dev/null; done |
	grep . && { echo "a session is left"; exit 1; }
exit 0
