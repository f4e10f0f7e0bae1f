# Which ends leave an image: with other threads still running, and children that each translate a little.
source "$ROOT/tests/warm/warm_functions.bash"
export XDG_CACHE_HOME=$PWD/cache
cat > threads.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long turns;
static void *turn(void *p) { for (;;) turns++; return p; }
static void *sleeper(void *p) { for (;;) pause(); return p; }
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, turn, NULL) || pthread_create(&t, NULL, sleeper, NULL))
			return 1;
	while (turns < 1000)
		usleep(100);
	puts("done");
	exit(3);
}
EOF
"${CC:-gcc}" -O1 -pthread -o threads threads.c || exit 77
cat > forks.sh <<'EOF'
for i in $(seq 40); do (: "${i#1}"; [ "$i" = 2 ] && : "$(echo $i)"); done; exit 3
EOF
settle
ends()
{
	for run in 1 2 3; do
		"$PCL" --stats count -o counts -e instructions:u -- "$@" > out 2> stats
		[ $? = 3 ] || fail "$*: not its status: $(cat stats)"
	done
	translated=$(awk '/blocks translated/ { print $1 }' stats)
	grep -qE ' ([2-9]|[1-9][0-9]+) +programs that began with an image' stats || fail "$*: $(cat stats)"
	[ "$translated" -lt 2000 ] || fail "$*: $translated blocks"
	# What is little is written now and then, by chance.
	for run in 4 5 6 7 8; do
		grep -q 'images of translations written' stats || break
		"$PCL" --stats count -o counts -e instructions:u -- "$@" > out 2> stats
	done
	! grep -q 'images of translations written' stats || fail "$*: an image each time: $(cat stats)"
}
ends ./threads
grep -qx done out || exit 1
ends bash forks.sh

# What children translate before they execute something is in the image too, and they find it without the runtime.
cat > execs.sh <<'EOF'
for i in $(seq 40); do /bin/true; done; exit 3
EOF
ends bash execs.sh
[ "$translated" -lt 400 ] || fail "$translated blocks in 40 children, again"
looked_up=$(awk '/indirect branches looked up/ { print $1 }' stats)
[ "$looked_up" -lt 150 ] || fail "$looked_up indirect branches looked up"

# Programs that a program executes ask the processor for little that is known: a virtual machine traps each cpuid.
cpuids() { "$PCL" --stats "$@" 2>&1 > /dev/null | sed -n 's/^ *\([0-9]*\)  times that cpuid.*/\1/p'; }
one=$(cpuids /bin/true) many=$(cpuids sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true; done; :')
[ "$one" -lt 10 ] || [ "$many" -lt $((one * 5)) ] || fail "cpuid: $one times in a program, $many times in nine"
