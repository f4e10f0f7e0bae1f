# --users=own: what changes user and group ids fails as natively for a process without the capabilities, in children and
# programs executed later too, and in user namespaces, where other ids have those names. --users=split, the default, and
# --users=any: all is as natively. As root and as an ordinary user.
users=$BUILD/tests/restricted/users
status=0 ran=
same() { # what, then "|", one command, "|", the other
	cmp -s native pcl || { echo "$*:"; diff native pcl | head -20; status=1; }
}
# how DROP OPTION ARGUMENTS: OPTION under pcl is as natively with DROP (which may be nothing)
how() {
	drop=$1 option=$2
	shift 2
	"$users" $drop "$@" > native 2>&1
	result=$?
	[ $result = 77 ] && { echo "$*: $(cat native)"; return; }
	[ $result = 0 ] && grep -q "^set three" native ||
		{ echo "natively: $*: $result"; head native; status=1; return; }
	"$PCL" $option "$users" "$@" > pcl 2>&1
	[ $? = 0 ] || { echo "$option $*: status"; status=1; }
	same $option "$@"
	ran=1
}
if [ "$(id -u)" = 0 ]; then
	for more in "" threads execute "names 0" "names 1" "names 2"; do
		how "" "" $more
		how "" --users=split $more
		how "" --users=any $more
		how drop --users=own $more
	done
	# Other ids than the first user's: the program under pcl begins with them.
	for id in 5 65534; do
		"$users" as $id "$users" > native
		"$users" as $id "$PCL" --users=own "$users" > pcl
		same own, user $id
		"$users" as $id "$PCL" "$users" > pcl
		same split, user $id
	done
	"$PCL" --strace=why --users=own "$users" 2>&1 > /dev/null | grep "setuid(65534).*EPERM.*--users=own" > reason
	[ -s reason ] || { echo "no reason given"; status=1; }
else
	for more in "" threads execute; do
		how "" --users=any $more
		how "" --users=own $more
	done
fi
[ $status = 0 ] && [ -z "$ran" ] && exit 77
exit $status
