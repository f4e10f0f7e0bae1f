# perf probe, and records of what it has defined: a function of the C library, its results, a statically defined probe
# (USDT).
command -v perf >/dev/null || { echo "no perf"; exit 77; }
status=0
fail() { echo "$*"; status=1; }
export HOME=$PWD
calls=$BUILD/tests/clients/calls
libc=$(ldd "$calls" | awk '/libc\.so/ { print $3 }')
[ -e "$libc" ] || { echo "no C library"; exit 77; }
cp "$BUILD/tests/clients/usdt" . || exit 1
gcc -O1 -shared -fPIC -D_GNU_SOURCE -x c -o count.so - << 'END' || { echo "no gcc"; exit 77; }
/*
 * To be preloaded: appends "PROGRAM CALLS BYTES", of malloc(), to the file $COUNT_MALLOC when the program ends. A
 * realloc() of nothing is one, too: the C library calls its own malloc() then.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long calls, bytes;

static void count(size_t size)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	count(size);
	return __libc_malloc(size);
}

void *realloc(void *p, size_t size)
{
	if (!p)
		count(size);
	return __libc_realloc(p, size);
}

/* A child of fork() counts its own. */
static void forget(void)
{
	calls = bytes = 0;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, forget);
}

/* Without another malloc(). */
__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("COUNT_MALLOC");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0644) : -1, n;
	char text[256];

	if (fd < 0)
		return;
	n = snprintf(text, sizeof(text), "%s %lu %lu\n", program_invocation_short_name, calls, bytes);
	if (write(fd, text, (size_t)n) != n)
		_exit(1);
	close(fd);
}
END
gcc -O1 -fno-builtin -x c -pthread -o threads - << 'END' || fail gcc
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *n) { for (long i = 0; i < (long)n; i++) free(malloc(i)); return NULL; }
int main(void)
{
	pthread_t t[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)(1000 + i));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (!fork()) {
		work((void *)500);
		return 0;
	}
	wait(NULL);
	return 0;
}
END

# Everything in one session, which the definitions are of.
cat > session.sh << 'END'
set -e
perf probe -q -x "$LIBC" malloc 'size=%di'
perf probe -q -x "$LIBC" 'result=malloc%return' '$retval'
perf probe -l 2>&1
cat /sys/kernel/tracing/uprobe_events
export COUNT_MALLOC=$PWD/count
for program in ./threads "sqlite3 -init /dev/null x.db .tables"; do
	LD_PRELOAD=$PWD/count.so perf record -q -m 4M -o data -e 'probe_libc:*' $program > tables
	echo "preloaded $(grep -h -v perf count | awk '{ n += $2; s += $3 } END { print n, s }')"
	perf script -i data -F event,trace 2> err > script
	echo "malloc $(grep -c 'probe_libc:malloc:' script) result $(grep -c 'probe_libc:result__return:' script)"
	echo "bytes $(sed -n 's/.*size=0x//p' script | python3 -c 'import sys; print(sum(int(n, 16) for n in sys.stdin))')"
	rm count
done
LD_PRELOAD=$PWD/count.so perf stat -x, -o csv -e probe_libc:malloc ./threads
echo "stat $(grep '^[0-9]' csv | cut -d, -f1) preloaded $(grep -h -v perf count | awk '{ n += $2 } END { print n }')"
perf probe -q -d '*'
perf --buildid-dir $PWD/debug buildid-cache --add ./usdt
perf --buildid-dir $PWD/debug probe -q sdt_pcl_test:loop
echo "listened $(perf record -q -o data -e sdt_pcl_test:loop ./usdt)"
echo "listened $(./usdt)"
perf script -i data -F trace 2> err | awk '{ print $2, $3 }'
perf probe -q -d '*'
cat /sys/kernel/tracing/uprobe_events
END

expect_session() # of the output in $1
{
	grep -q 'probe_libc:malloc .*malloc.* with size' "$1" || fail "perf probe -l"
	grep -q '^r:probe_libc/result__return .* arg1=$retval$' "$1" || fail "uprobe_events"
	awk '/^preloaded/ { n = $2; b = $3 }
		/^malloc/ { bad += $2 != n || $4 != n || n < 100 }
		/^bytes/ { bad += $2 != b; k++ }
		END { exit bad || k != 2 }' "$1" || fail "calls of malloc"
	grep -q '^preloaded 45[0-9][0-9] ' "$1" || fail "preloaded"
	awk '/^stat/ { bad += $2 != $4 || $2 < 4500; k++ } END { exit bad || k != 1 }' "$1" || fail "perf stat"
	[ "$(grep '^listened' "$1" | tr '\n' ' ')" = "listened 100 listened 0 " ] || fail "semaphore"
	awk '/^arg1=/ { bad += $0 != "arg1=" n + 0 " arg2=" int(n / 2) - 10; n++ } END { exit bad || n != 100 }' "$1" ||
		fail "arguments of sdt"
}
LIBC=$libc "$PCL" --paranoid=-1 sh session.sh > out 2>&1 || fail "session"
for name in 'perf probe of function' "probe libc's inet_pton"; do
	"$PCL" --paranoid=-1 perf test "$name" > test 2>&1 || fail "perf test $name"
	grep -q FAILED test && { fail "perf test $name"; cat test; }
done
expect_session out
[ $status = 0 ] || cat out
exit $status
