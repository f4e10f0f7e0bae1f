# For the scripts that run the unmodified perf: sourced by them, with $PCL and $BUILD set.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
shape=$BUILD/tests/clients/shape
status=0

fail() {
	echo "$*"
	status=1
}

# record ARGUMENTS: perf record of them under pcl, into the file `data`. With events of BPF programs it would wait a
# second at its end.
record() {
	what="perf record $*"
	rm -f data
	timeout -s KILL 30 "$PCL" perf record --no-bpf-event -q -o data "$@" >out 2>err </dev/null ||
		fail "$what: status $?: $(head -n 3 err)"
}

# script ARGUMENTS: what perf script, run natively, says about the file, into `text`.
script() {
	timeout -s KILL 30 perf script -i data "$@" >text 2>err </dev/null ||
		fail "$what: perf script $*: status $?: $(head -n 3 err)"
}

# report ARGUMENTS: the same for perf report, without its comments.
report() {
	timeout -s KILL 30 perf report -i data --stdio "$@" 2>err </dev/null | grep -v '^#' >text
	[ "${PIPESTATUS[0]}" = 0 ] || fail "$what: perf report $*: $(head -n 3 err)"
}

# between LOW HIGH PATTERN: so many lines of the text match it.
between() {
	local n
	n=$(grep -cE -- "$3" text)
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ] || fail "$what: $n lines match $3, not $1 to $2: $(head -n 3 text)"
}

# most PATTERN: at least 9 of 10 lines match it, and there are 20.
most() {
	local n all
	n=$(grep -cE -- "$1" text)
	all=$(grep -c . text)
	[ "$all" -ge 20 ] && [ $((n * 10)) -ge $((all * 9)) ] ||
		fail "$what: $n of $all lines match $1: $(head -n 3 text)"
}

# fold PATTERN: the call chains in the text of script -F ip,sym, one a line, innermost first ("leaf;middle;main"), of
# the samples that match.
fold() {
	awk 'NF { line = line (line == "" ? "" : ";") $2; next } { print line; line = "" } END { print line }' text |
		grep -E -- "$1" >chains
	mv chains text
}
