# The translator's rare paths, forced: a cache that is full all the time, blocks of one instruction, no links, lookups,
# traces.
cat > t.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile int alarms;
static void on_alarm(int s) { alarms++; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *work(void *arg)
{
	int n = 20000, *a = malloc(n * sizeof(*a));
	unsigned x = (unsigned)(long)arg;
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < n; i++)
			a[i] = (int)((x = x * 1103515245 + 12345) >> 8 & 0xffff);
		qsort(a, n, sizeof(*a), compare);
	}
	return (void *)(long)a[n / 2];
}
int main(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	pthread_t t[3];
	void *r;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &r);
		printf("%ld\n", (long)r);
	}
	return alarms == 0;
}
END
gcc -O2 -pthread -o t t.c || exit 1
for mode in --small-cache --dual-map "--dual-map --small-cache" --one-insn-blocks --no-traces --no-links --no-ibl \
	"--small-cache --no-links"; do
	$RUN ${RUN:+$mode} ./t
	echo $?
	$RUN ${RUN:+$mode} gcc -O1 -S -o - -x c - <<'END' | grep -c main
int main(int c, char **v) { double s = 0; for (int i = 0; i < c; i++) s += v[i][0] * 1.5; return (int)s; }
END
done
if command -v node >/dev/null; then
	echo 'const {Worker,isMainThread}=require("worker_threads");if(isMainThread){new Worker(__filename).on("exit",c=>console.log("worker",c))}let s=0;for(let i=0;i<3e5;i++)s=(s*31+i)%1000003;console.log(s)' > t.js
	$RUN ${RUN:+--small-cache} node t.js | sort
fi
