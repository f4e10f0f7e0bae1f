#!/bin/bash
# What the guest sees of how it was started: process, parent, group, session, terminal, descriptors, mask, ignored
# signals, limits.
set -u
failed=0

# same 'SCRIPT': run by a shell natively and under pcl, the same text comes out. Both are children of this process.
same()
{
	want=$(env sh -c "$1" 2>&1)
	got=$("$PCL" sh -c "$1" 2>&1)
	if [ "$got" != "$want" ]; then
		printf '%s\nnatively: %s\npcl: %s\n' "$1" "$want" "$got"
		failed=1
	fi
}

same 'pwd; umask; ulimit -a'
same 'env | grep -v "^_="'
same 'sed -n "s/^Sig\(Blk\|Ign\):/\1/p" /proc/self/status'
same 'cut -d" " -f5-8 /proc/self/stat | sed "s/ .*//" | grep -c .'
same 'echo $0; echo "$@"'
exec 8</dev/null
same 'for f in /proc/$$/fd/[0-9] /proc/$$/fd/[0-9][0-9]; do [ -e "$f" ] && echo "${f##*/}"; done'
trap '' HUP USR2
same 'grep "^SigIgn:" /proc/self/status'
trap - HUP USR2

# The guest is the process that was started, and its parent is the one that started it.
"$PCL" sh -c 'echo $$ $PPID' >"${TMPDIR:-/tmp}/seen.$$" &
wait $!
read -r pid parent <"${TMPDIR:-/tmp}/seen.$$"
rm -f "${TMPDIR:-/tmp}/seen.$$"
[ "$pid $parent" = "$! $$" ] || { echo "guest $pid with parent $parent, started as $! by $$"; failed=1; }

# A small limit on descriptors still leaves room for the two hidden ones.
[ "$(ulimit -n 64; "$PCL" sh -c 'ulimit -n')" = 64 ] || { echo "ulimit -n 64 does not work"; failed=1; }
exit $failed
