# Which directory is used, who may have written there, how large it gets; and that nothing of all this shows to the
# program.
source "$ROOT/tests/warm/warm_functions.bash"
settle # links made to system files change their times, too
log() { "$PCL" --cache-dir="$cache" --log=1 "$@" 2>&1 > /dev/null; }

# By default below XDG_CACHE_HOME, or HOME.
XDG_CACHE_HOME=$PWD/xdg "$PCL" ls / > /dev/null
[ -n "$(ls xdg/pcl/*.warm)" ] || fail "XDG_CACHE_HOME"
[ "$(stat -c %a xdg/pcl)" = 700 ] && [ "$(stat -c %a xdg/pcl/*.warm | sort -u)" = 600 ] || fail "modes"
mkdir home
env -u XDG_CACHE_HOME HOME=$PWD/home "$PCL" ls / > /dev/null
[ -n "$(ls home/.cache/pcl/*.warm)" ] || fail "HOME"
env -u XDG_CACHE_HOME HOME=$PWD/none "$PCL" --no-cache ls / > /dev/null
[ ! -e none ] || fail "--no-cache makes a directory"
(umask 777; XDG_CACHE_HOME=$PWD/umask "$PCL" true)
env -u XDG_CACHE_HOME -u HOME "$PCL" true || fail "without HOME"
env -u XDG_CACHE_HOME HOME=$PWD/missing "$PCL" true && XDG_CACHE_HOME=$PWD/missing/cache "$PCL" true || fail "no HOME"
[ ! -e missing ] || fail "a HOME that was missing is there"
"$PCL" --cache-dir=/proc/nothing true 2> err || fail "a directory that cannot be made"
# Who names one that cannot be used is told so in a line.
not_used() { # DIRECTORY WHY
	[ "$("$PCL" --cache-dir="$1" true 2>&1)" = "pcl: $1 is not used for translations: $2" ] || fail "$1: no word of $2"
}
: > file; mkdir -m 755 open
not_used file "Not a directory"
not_used open "others may look into it; its mode must be 0700"
not_used /proc/nothing "No such file or directory"
"$PCL" --cache-dir= true 2> err && fail "--cache-dir without a name"

# Others may not look into it, and files are the user's alone.
warm ls / > /dev/null
[ "$(used ls /)" = 1 ] || fail "not used"
for option in --no-traces --no-links --no-ibl --no-unroll --no-spans --no-liveness \
	--no-approach --no-polls --one-insn-blocks --call-stacks --stress=poll; do
	[ "$(used $option ls /)" = 0 ] || fail "$option uses what was translated without"
	rm "$cache"/*.warm; warm ls / > /dev/null
done
chmod 755 "$cache"
[[ "$(log true)" = *"is not used"* ]] || fail "a directory that others may look into"
[ "$(used ls /)" = 0 ] || fail "used, though others may look into it"
chmod 700 "$cache"
for mode in 640 666 700; do
	chmod $mode "$cache"/*.warm
	[ "$(used ls /)" = 0 ] || fail "an image of mode $mode was used"
	rm "$cache"/*.warm; warm ls / > /dev/null
done
mkdir links; ln "$cache"/*.warm links/
[ "$(used ls /)" = 0 ] || fail "an image with two names was used"
rm -r links
[ "$(used ls /)" = 1 ] || fail "not used any more"
if [ "$(id -u)" = 0 ]; then
	mkdir theirs; chown 1 theirs
	env -u XDG_CACHE_HOME HOME=$PWD/theirs "$PCL" ls / > /dev/null
	[ -z "$(ls -A theirs)" ] || fail "a directory in another user's HOME"
	chown 1 "$cache"/*.warm
	[ "$(used ls /)" = 0 ] || fail "another user's image was used"
	rm -f "$cache"/*; chown 1 "$cache"
	[[ "$(log true)" = *"is not used"* ]] || fail "another user's directory"
	[ "$(images)" = 0 ] || fail "written to another user's directory"
	chown 0 "$cache"
	# A member that changes its user neither reads nor writes here.
	for users in split any; do
		rm -f "$cache"/*
		warm --users=$users setpriv --reuid=1 --clear-groups sort /etc/passwd > /dev/null 2>&1
		[ "$(find "$cache" -name '*.warm' ! -uid 0 | wc -l)" = 0 ] || fail "another user wrote an image"
	done
fi

# No larger than it may be, whatever is used.
rm -rf "$cache"
for i in 1 2; do
	for program in "ls /" "sort /etc/passwd" "sed p /etc/passwd" "cat /etc/passwd" "head -1 /etc/passwd" \
		"wc /etc/passwd" "env" "date"; do
		"$PCL" --cache-dir="$cache" --cache-size=2 $program > /dev/null
		[ "$(du -sk "$cache" | cut -f1)" -le 2060 ] || fail "more than 2 MiB"
	done
done
[ "$(images)" -ge 1 ] || fail "nothing is kept"
rm -rf "$cache"; "$PCL" --cache-dir="$cache" --cache-size=0 ls / > /dev/null; [ "$(images)" = 0 ] ||
	fail "--cache-size=0"

# Programs do not see it: limits on files' sizes, descriptors, chroot, a full table.
rm -rf "$cache"; warm sh -c : # which writes the dynamic linker's
before=$(images)
warm sh -c 'ulimit -f 1; exec sort /dev/null' > out || fail "with a limit on files' sizes"
[ "$(images)" = "$before" ] || fail "written beyond a limit"
(ulimit -n 16; warm ls /proc/self/fd > few; cold ls /proc/self/fd > few2; cmp few few2) || fail "descriptors"
warm ls -l /proc/self/fd > /dev/null
warm ls /proc/self/fd > few; cmp few few2 || fail "descriptors, warm"
exit 0
