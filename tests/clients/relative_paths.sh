# Virtual files are found by paths that are relative to a directory in /proc or /sys, the current one or an open one.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
status=0
says() { # what it is to print, the options of pcl, the command
	want=$1 options=$2
	shift 2
	got=$("$PCL" $options "$@" 2>&1)
	[ "$got" = "$want" ] || { echo "$options $*: '$got', not '$want'"; status=1; }
}
at='
import os, sys
dir, path = sys.argv[1:]
print(open(path, opener=lambda path, flags: os.open(path, flags, dir_fd=os.open(dir, os.O_RDONLY))).read().split("\n")[0])'

says 1 --paranoid=1 sh -c 'cd /proc/sys/kernel; cat perf_event_paranoid'
says 1 --paranoid=1 sh -c 'cd /proc; cat sys/kernel/perf_event_paranoid'
says 1 --paranoid=1 sh -c 'cd /; cd proc/sys; cat kernel/perf_event_paranoid'
says 4 "" sh -c 'cd /sys; cat bus/event_source/devices/cpu/type'
says 4 "" sh -c 'cd /sys/bus/event_source/devices; cat cpu/type'
says 0 --pin sh -c 'cd /sys/devices/system/cpu; cat online'
says 1 --paranoid=1 python3 -c "$at" /proc/sys/kernel perf_event_paranoid
says 1 --paranoid=1 python3 -c "$at" /proc sys/kernel/perf_event_paranoid
says 4 "" python3 -c "$at" /sys bus/event_source/devices/cpu/type
says 0 --pin python3 -c "$at" /sys/devices/system/cpu online
says "$("$PCL" --pin head -1 /proc/meminfo)" --pin python3 -c "$at" /proc meminfo
says here "" sh -c 'echo here >online; cat online' # no such directory

# What root writes there is the session's.
if [ "$(id -u)" = 0 ]; then
	before=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
	says 4321 "" sh -c 'cd /proc/sys/kernel; echo 4321 >perf_event_max_sample_rate; cat /proc/sys/kernel/perf_event_max_sample_rate'
	[ "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" = "$before" ] || { echo "the host's setting changed"; status=1; }
fi
exit $status
