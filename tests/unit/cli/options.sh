#!/bin/bash
# The options: what they set for the guest, which values are refused and how, and that help and manual name all of them.
set -u
failed=0
fail() { echo "$*"; failed=1; }
sysctl=/proc/sys/kernel/perf_event

# shows OPTION FILE VALUE: what a guest reads there.
shows()
{
	got=$("$PCL" ${1:+"$1"} cat "$2" 2>&1)
	[ "$got" = "$3" ] || fail "pcl $1: $2 is $got, not $3"
}

# refused OPTION: status 125 and a message that names it, nothing run.
refused()
{
	got=$("$PCL" "$1" echo was run 2>&1)
	[ $? = 125 ] || fail "pcl $1: status is not 125"
	case $got in
	*"was run"*) fail "pcl $1: the program was run" ;;
	pcl:*"${1%%=*}"*) ;;
	*) fail "pcl $1: says $got" ;;
	esac
}

shows "" ${sysctl}_paranoid 2
shows --paranoid=-1 ${sysctl}_paranoid -1
shows --paranoid=4 ${sysctl}_paranoid 4
shows "" ${sysctl}_max_sample_rate 100000
shows --max-sample-rate=250 ${sysctl}_max_sample_rate 250
shows --call-stacks ${sysctl}_max_sample_rate 100000
shows --processor=zen3 /sys/bus/event_source/devices/cpu/events/cpu-cycles event=0x76
shows --processor=atom /sys/bus/event_source/devices/cpu/events/cpu-cycles event=0x3c
shows --processor=none /sys/bus/event_source/devices/cpu/events/cpu-cycles event=0x03
case $("$PCL" --paranoid=-2 true 2>&1) in
"pcl: --paranoid takes -1 to 4") ;;
*) fail "--paranoid=-2 does not name the range" ;;
esac
for wrong in --cache-size=-1 --cache-size=-7 --cache-size=x --log=-1 --log=4 --counters=-2 \
	--paranoid --paranoid=5 --paranoid=-2 --paranoid=x --paranoid=1x \
	--max-sample-rate --max-sample-rate= --max-sample-rate=0 \
	--max-sample-rate=-1 --max-sample-rate=many --max-sample-rate=99999999999 --call-stacks=1 \
	--users --users= --users=an --users=anyone --users=own,any --strace=how --manual=none --completion --completion=tcsh \
	--stress --stress= --stress=ful --stress=full, --stress=full,polls --no-bias=1 --dump --dump= \
	--dump=gy --dump-at=x --dump-at=-1 --dump-at=0x80000000 --processor --processor= \
	--processor=zen --no-such-option; do
	refused "$wrong"
done
[ "$("$PCL" --call-stacks -- echo --call-stacks)" = --call-stacks ] ||
	fail "an argument of the program was taken for an option"

[ "$("$PCL" --stress=restart,full,poll,checked echo --stress=fail)" = --stress=fail ] ||
	fail "--stress with several words: $?"

"$PCL" --help >help || fail "--help: status $?"
for command in count check flame doctor list; do
	for option in --help -h; do
		"$PCL" $command $option >help_of || fail "$command $option: status $?"
		head -n 1 help_of | grep -q "^usage: pcl \[options\] $command" ||
			fail "$command $option says $(cat help_of)"
		while read -r name; do
			grep -q -- "^  \(-[a-z], \)*--${name}[ =[]" help_of || fail "$command $option does not name --$name"
		done < <(sed -n 's/^OPTION([A-Z]*, [^"]*"\([^"]*\)".*/\1/p' "$ROOT/cli/$command.def" 2>/dev/null)
	done
done
grep -q -- '^  --cpu=host|x86-64-v2|x86-64-v3|x86-64-v4 the processor' help || fail "the row of --cpu is cut off"
[ "$("$PCL" count --help | wc -l)" -lt 30 ] || fail "count --help says more than of count"
"$PCL" --manual >manual || fail "--manual: status $?"
for table in "$ROOT"/cli/*.def; do
	for name in $(sed -n 's/^OPTION([A-Z]*, [^"]*"\([^"]*\)".*/\1/p' "$table"); do
		grep -q -- "^  \(-[a-z], \)*--${name}[ =[]" help || fail "--help does not name --$name"
		grep -qF -- "\\-\\-${name//-/\\-}" manual || fail "--manual does not name --$name"
		"$PCL" --completion=bash | grep -q -- "--$name" || fail "bash's completion does not name --$name"
		"$PCL" --completion=zsh | grep -q -- "--$name" || fail "zsh's completion does not name --$name"
		"$PCL" --completion=fish | grep -q -- "-l $name" || fail "fish's completion does not name --$name"
	done
done
case $("$PCL" --straec true 2>&1) in
*"is --strace meant?"*) ;;
*) fail "the nearest option is not named" ;;
esac
case $("$PCL" count -p 1 2>&1) in # as perf has it
*"unknown option -p: what runs already cannot be counted"*) ;;
*) fail "pcl count -p: $("$PCL" count -p 1 2>&1)" ;;
esac
for name in $(sed -n 's/^EVENT("\([^"]*\)".*/\1/p' "$ROOT/pmu/events.def"); do
	"$PCL" --manual=events | grep -qF -- "${name//-/\\-}" || fail "pcl-events(7) does not name $name"
done
if command -v man >/dev/null; then
	for page in --manual --manual=events; do
		said=$("$PCL" $page | LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l - 2>&1 >/dev/null)
		[ -z "$said" ] || fail "man of $page: $said"
	done
fi
[ "$(grep -c '^  --' help)" -ge 10 ] || fail "--help names few options"
exit $failed
