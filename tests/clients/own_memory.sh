# Code in a memfd that is closed, and that no other process has, is not compared each time that it is entered: that of
# a program alone, of one that a shell waits for, and of one in a session with a tool.
status=0
compared() { # what runs: so many of its blocks are compared
	"$PCL" --no-cache --dump=x "$@" 2>&1 | grep -c stale
}
closed=$BUILD/tests/count/jit_closed_memory
[ "$(compared "$BUILD/tests/count/jit_two_mappings")" -gt 0 ] || { echo "a memfd that is open: nothing is compared"; status=1; }
for how in "$closed" "sh -c $closed;:" "timeout 60 $closed" "sh -c $closed|cat"; do
	case $how in
	sh*) n=$(compared sh -c "${how#sh -c }") ;;
	*) n=$(compared $how) ;;
	esac
	[ "$n" = 0 ] || { echo "$how: $n blocks are compared"; status=1; }
done
exit $status
