#!/bin/bash
# Descriptors 0, 1 and 2 closed, in every combination: the program finds them closed, and nothing of what is said
# without them goes to files that pcl opened.
set -u
failed=0
fail() { echo "$*"; failed=1; }
# Which of them are open, as a number, and what is the lowest that is free.
cat >open.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	int open_ones = 0;
	for (int fd = 0; fd < 3; fd++)
		open_ones |= (fcntl(fd, F_GETFD) >= 0) << fd;
	return open_ones << 4 | open("/", O_RDONLY);
}
END
gcc -o open open.c || exit 1
# with CLOSED COMMAND...: its status, with these descriptors closed.
with() {
	case $1 in
	000) "${@:2}" ;;
	001) "${@:2}" <&- ;;
	010) "${@:2}" >&- ;;
	011) "${@:2}" <&- >&- ;;
	100) "${@:2}" 2>&- ;;
	101) "${@:2}" <&- 2>&- ;;
	110) "${@:2}" >&- 2>&- ;;
	111) "${@:2}" <&- >&- 2>&- ;;
	esac
}
"$PCL" check -b base.json -n true -u -e instructions -- true >/dev/null 2>&1 || fail "no baseline"
for closed in 000 001 010 011 100 101 110 111; do
	with $closed ./open
	want=$?
	for way in "" --why=why --stats "count -o count.json --json -e instructions --" "flame -o flame.svg --" \
		"--pin count -o count.csv --csv --"; do
		rm -f why count.* flame.svg
		with $closed "$PCL" $way ./open 2>/dev/null
		got=$?
		[ $got = $want ] || fail "$closed: pcl $way ends with $got, not with $want"
		case $way in
		*why*) [ "$(cat why)" = "pcl: nothing was refused" ] ;;
		*json*) python3 -c 'import json; json.load(open("count.json"))' ;;
		*csv*) grep -q '^instructions,exact' count.csv && [ "$(wc -l <count.csv)" = 6 ] ;;
		flame*) [ "$(tail -n 1 flame.svg)" = "</svg>" ] && [ "$(head -n 1 flame.svg | cut -c 1-5)" = "<?xml" ] ;;
		esac || { fail "$closed: pcl $way wrote:"; head -c 300 why count.* flame.svg 2>/dev/null; }
	done
	with $closed "$PCL" check -b base.json -n true -o table -- true 2>/dev/null || fail "$closed: pcl check: $?"
	grep -q 'no regression' table && [ "$(grep -c pcl table)" = 1 ] || { fail "$closed: check"; cat table; }
	# What fails says so nowhere then, and not in the file.
	echo kept >kept
	with $closed "$PCL" flame -o kept -- ./no-such-program 2>/dev/null
	[ $? = 127 ] && [ "$(cat kept)" = kept ] || fail "$closed: in the file of a picture: $(head -n 3 kept)"
done
exit $failed
