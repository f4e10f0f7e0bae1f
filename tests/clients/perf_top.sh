# perf top of a running program of the session: it goes on until it has shown where the samples are, and then ends as it
# is told to.
source "$ROOT/tests/clients/perf_functions.bash"
export shape

# top PATTERN ARGUMENTS
top() {
	what="perf top ${*:2}"
	timeout -s KILL 60 "$PCL" bash -c '"$shape" 0 & p=$!
		perf top --stdio -d 1 -p $p "${@:2}" >text 2>err </dev/null & t=$!
		for ((i = 0; i < 200; i++)); do grep -qE -- "$1" text && break; sleep 0.1; done
		kill -INT $t; wait $t; s=$?; kill $p; exit $s' bash "$@" 2>/dev/null || fail "$what: status $?: $(head -n 3 err)"
	between 1 100000 "$1"
}

top '(9[0-9.]+|100.00)% +shape +\[\.\] leaf' -e instructions:u -c 1000003
top '(9[0-9.]+|100.00)% +[0-9.]+% +shape +\[\.\] (leaf|work)' -g -e cycles:u
exit $status
