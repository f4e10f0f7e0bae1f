#!/bin/sh
# tests/conformance.list has every item of perf_event_open(2), of the page that is installed or that PERF_MANUAL names.
set -eu
page=${PERF_MANUAL:-$(man -w 2 perf_event_open 2>/dev/null)} ||
	{ echo "the manual page is not installed (manpages-dev)"; exit 77; }
case $page in
*.gz) gzip -dc "$page" >page ;;
*) cat "$page" >page ;;
esac
"$ROOT/tools/conformance" --items page >items
[ "$(wc -l <items)" -gt 400 ] || { echo "only $(wc -l <items) items in $page"; exit 1; }
sed 's/ | .*//' "$ROOT/tests/conformance.list" >list
if grep -vxFf list items; then
	echo "these are not in tests/conformance.list"
	exit 1
fi

# An item that is new is found.
printf '.SS Arguments\n.TP\n.IR new_field " (since Linux 9.0)"\n.BR PERF_SAMPLE_NEW .\n' >page
[ "$("$ROOT/tools/conformance" --items page | paste -sd' ')" = "attr.new_field PERF_SAMPLE_NEW" ]
