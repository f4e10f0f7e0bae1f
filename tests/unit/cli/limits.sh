# A hard limit that leaves no room for pcl's reservations, and that pcl may not raise: one line says which one does, and
# it does.
failed=0
expect() { [ "$2" = "$3" ] || { echo "$1: got \"$2\", expected \"$3\""; failed=1; }; }
try() { # option, KiB
	(ulimit -S "$1" 300000 && ulimit -H "$1" "$2" && "$PCL" bash -c "ulimit $1" 2>&1)
}
# The translator's memory that is a file, under a limit of the program's own.
got=$("$PCL" --strict-overcommit --dual-map bash -c 'ulimit -f 100; bash -c "ulimit -f"; :' 2>&1)
expect "a code cache in a file" "$got" 100
got=$( (ulimit -S -f 100; "$PCL" --strict-overcommit --dual-map bash -c 'ulimit -f' 2>&1) )
expect "a code cache in a file, below a soft limit" "$got" 100
# A session of its own, for who gives up its user.
become="setpriv --reuid=1 --clear-groups"
if $become true 2>/dev/null; then
	got=$("$PCL" bash -c "ulimit -S -f 100; $become bash -c 'ulimit -f'" 2>&1)
	expect "another user" "$got" 100
	got=$("$PCL" --strace=why bash -c "ulimit -f 100; $become true" 2>&1)
	case $got in *"= -1 EAGAIN (RLIMIT_FSIZE "* | *"setresuid(1, 1, 1) = 0"*) ;; *) echo "another user: $got"; failed=1 ;; esac
fi
# A small stack, where the program runs natively. Sanitizers take more of it. The kernel begins it up to 8 KiB further
# down, at random, so that natively, too, a program may have too little of it.
case $PCL:$BUILD in
*san/* | *san) ;;
*)
	if (ulimit -s 16 && env -i /bin/true) 2>/dev/null; then
		for try in 1 2 3; do
			(ulimit -s 16 && env -i "$PCL" /bin/true) 2>/dev/null
			status=$?
			[ $status = 0 ] && break
		done
		expect "a stack of 16 KiB, tried $try times" $status 0
	fi
	;;
esac
# Too few descriptors: the line names the limit, and with what it asks for pcl runs.
line=$( (ulimit -n 12 && "$PCL" true) 2>&1)
needed=$(echo "$line" | sed -n 's/^pcl: the limit on open files, 12, .* (ulimit -n): it needs \([0-9]*\) here$/\1/p')
[ -n "$needed" ] || { echo "ulimit -n: $line"; exit 1; }
(ulimit -n "$needed" && "$PCL" true) || { echo "ulimit -n $needed is not enough"; failed=1; }
[ $failed = 0 ] || exit 1
if ! { (ulimit -v 4000000 && "$PCL" --version); } >/dev/null 2>&1; then
	echo "a sanitizer of the command reserves more than any limit"
	exit 77
fi
if (ulimit -v 300000 && ulimit -H -v 400000) 2>/dev/null; then # this user may raise hard limits: as another
	[ "$(id -u)" = 0 ] && [ -z "${AGAIN:-}" ] || { echo "this user may raise hard limits"; exit 77; }
	pcl=$(readlink -f "$PCL")
	chmod 755 . && cp "$pcl" "${pcl%/*}/pclrt" "$BUILD/tests/restricted/restrict" "$0" . && chmod a+rx -- *
	AGAIN=1 PCL=$PWD/pcl exec ./restrict bash ./limits.sh
fi
for option in -v -d -f; do
	line=$(try $option 300000)
	expect "$option, lines" "$(echo "$line" | wc -l)" 1
	advice="(ulimit -S $option), or the hard one (ulimit -H $option) to"
	needed=$(echo "$line" | sed -n "s/^pcl: the hard limit on .* $advice \([0-9]*\) or more\$/\1/p")
	[ -n "$needed" ] || { echo "$option: $line"; exit 1; }
	expect "$option $needed" "$(try $option "$needed")" 300000
	case $(try $option $((needed - 1))) in pcl:*) ;; *) echo "$option $((needed - 1)) is enough"; failed=1 ;; esac
done
exit $failed
