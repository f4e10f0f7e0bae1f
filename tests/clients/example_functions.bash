# For the tests of examples/: pcl by its name, fail, and counts. Each is a test of its own, so that one without its
# packages is skipped.
set -u
status=0
examples=$ROOT/examples
mkdir bin && ln -s "$(readlink -f "$PCL")" bin/pcl
PATH=$PWD/bin:$PATH

# shellcheck disable=SC2034 # the scripts end with it
fail() { echo "$*"; status=1; }

# needs COMMAND...: is skipped if the command fails.
needs() { "$@" >/dev/null 2>&1 || { echo "not there: $*"; exit 77; }; }

# counts LOW HIGH COMMAND...: its first word is a number of instructions in between; it is left in $n.
counts()
{
	local low=$1 high=$2
	shift 2
	n=$("$@" 2>err) || fail "$*: status $?: $(cat err)"
	n=${n%% *}
	if ! [[ $n =~ ^[0-9]+$ ]] || ((n < low || n > high)); then fail "$*: $n"; fi
}

# better SCRIPT: what it has laid out better does the same with a quarter of the branches taken, at most, and as many
# instructions.
better()
{
	"$examples/$1" >out 2>err || { fail "$1: status $?: $(tail -n 5 err ./*.log)"; return; }
	[ "$(./before 300)" = "$(./after 300)" ] || fail "$1: the result is another"
	awk '/^before/ { i = $2; b = $4 } /^after/ { j = $2; a = $4 } END { exit !(a > 1000 && a * 4 < b && (i - j) ^ 2 < 1e8) }' out || fail "$1: $(cat out)"
}
