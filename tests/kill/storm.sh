# 500 SIGKILLs at random moments; afterwards nothing of the session is left.
timeout -k 5 170 "$PCL" "$BUILD/tests/kill/storm" 500
status=$?
# Seen on a virtual machine with page-table isolation, with every version of pcl so far; the cause is not known.
if [ $status = 124 ] && grep -qs PTI /sys/devices/system/cpu/vulnerabilities/meltdown; then
	echo "victims die too slowly on this kind of host: no end in 170 s"
	exit 77
fi
[ $status = 0 ] || exit $status
sleep 0.2
left=$(pgrep -s 0 -f "$BUILD/tests/kill/storm" | wc -l)
[ "$left" = 0 ] || { echo "$left processes are left"; exit 1; }
# Memory: the session's shared file went with its last member.
for p in $(pgrep -s 0); do grep -l 'memfd:pcl' /proc/$p/maps 2>/dev/null; done | grep . && { echo "a session is left"; exit 1; }
exit 0
