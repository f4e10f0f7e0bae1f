# For the tests of warm starts: $PCL with a cache directory of its own, and what is to be the same with and without.
set -u
cache=$PWD/cache
warm() { "$PCL" --cache-dir="$cache" "$@"; }
cold() { "$PCL" --no-cache "$@"; }
fail() { echo "FAILED: $*"; exit 1; }
images() { ls "$cache" 2>/dev/null | grep -c '\.warm$'; }
# So many images were used by the programs that those arguments start.
used() { warm --stats "$@" 2>&1 >/dev/null | sed -n 's/^ *\([0-9]*\)  programs that began with an image.*/\1/p' |
	grep . || echo 0; }
# Programs' files are believed only when they are 2 seconds old. Programs of the system are older.
settle() { sleep 2.1; }
