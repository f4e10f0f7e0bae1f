#!/bin/bash
# Signals sent to pcl reach the guest, with and without --stats (where pcl stays as the parent); so do stops and
# timeout(1).
set -u
failed=0

complain()
{
	echo "$*"
	failed=1
}

# Runs a guest that answers signals in the background and waits until it is ready. It then parses nothing more: bash
# loses a trap
# that comes while it looks for the end of <(...).
start()
{
	ready=$(mktemp -u)
	mkfifo "$ready"
	"$PCL" $1 bash -c 'trap "exit 41" TERM; trap "exit 42" USR1; trap "exit 43" HUP; exec 3<> <(:); echo >"$0"
		while :; do read -t 1 -u 3; done' \
		"$ready" 2>/dev/null &
	read -r _ <"$ready"
	rm -f "$ready"
}

for options in '' --stats; do
	for case in TERM:41 USR1:42 HUP:43; do
		start "$options"
		kill -"${case%:*}" $!
		wait $!
		got=$?
		[ $got = "${case#*:}" ] || complain "pcl $options: SIG${case%:*} gives status $got, expected ${case#*:}"
	done
	timeout 0.5 "$PCL" $options sleep 20 2>/dev/null
	got=$?
	[ $got = 124 ] || complain "timeout pcl $options: status $got"

	"$PCL" $options bash -c 'kill -STOP $$; exit 9' 2>/dev/null &
	for _ in $(seq 100); do
		state=$(sed 's/.*) \(.\).*/\1/' /proc/$!/stat)
		[ "$state" = T ] && break
		sleep 0.05
	done
	[ "$state" = T ] || complain "pcl $options: a stopped guest leaves pcl in state $state"
	kill -CONT $!
	wait $!
	got=$?
	[ $got = 9 ] || complain "pcl $options: status after a stop is $got"

	# All are stopped, and the guest's parent is the first to be continued.
	"$PCL" $options sleep 1 2>/dev/null &
	sleep 0.5
	guest=$(pgrep -P $!)
	kill -STOP $! $guest
	sleep 0.2
	kill -CONT $!
	sleep 0.2
	[ -z "$guest" ] || kill -CONT "$guest"
	sleep 1
	state=$(sed 's/.*) \(.\).*/\1/' /proc/$!/stat 2>/dev/null)
	[ "$state" != T ] || complain "pcl $options: stays stopped after its guest's end"
	kill -CONT $! 2>/dev/null
	wait $!
	got=$?
	[ $got = 0 ] || complain "pcl $options: status after a stop of all is $got"
done
exit $failed
