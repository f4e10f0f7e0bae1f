# Unmodified perf stat: five runs of real programs give the same instructions and branches, to the unit.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
seq 300000 > data
cat > script.sql <<'END'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i+1 from n where i<20000) insert into t select i, 'row' || (i*7919%1000) from n;
create index tb on t(b); select b, count(*) from t group by b order by 2 desc, 1 limit 5;
END
cat > unit.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char name[16]; int n; };
static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
int work(char **v, int n) { qsort(v, n, sizeof(*v), compare); int s = 0; for (int i = 0; i < n; i++) s += strlen(v[i]) * i; return s; }
END
status=0
check()
{
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	rm -f numbers
	for run in 1 2 3 4 5; do
		rm -f unit.o unit.i unit.s
		"$PCL" perf stat -x, -o csv \
			-e instructions:u,branches:u,cycles:u,task-clock,page-faults,context-switches \
			-- "$@" > out$run || { echo "$name fails"; status=1; }
		awk -F, '$3 ~ /^(instructions|branches):u$/ { print $3, $1 }' csv >> numbers
		# Software events are numbers, and the times plausible.
		awk -F, '$3 ~ /^(task-clock|page-faults|context-switches|cycles)/ && $1 !~ /^[0-9.]+$/ { print "odd:", $0; bad = 1 } END { exit bad }' csv || status=1
		cmp -s out1 out$run || { echo "$name: output differs"; status=1; }
	done
	if [ "$(sort -u numbers | wc -l)" != 2 ] || [ "$(wc -l < numbers)" != 10 ] ||
		! grep -qE 'instructions:u [0-9]{5}' numbers; then
		echo "$name: not the same five times:"
		sort numbers | uniq -c
		status=1
	else
		echo "$name: $(sort -u numbers | tr '\n' ' ')"
	fi
}
export PYTHONHASHSEED=0
check python3 python3 -c pass
check xz xz -2kc data
check gzip gzip -9nc data
check sqlite3 sqlite3 :memory: '.read script.sql'
# Without -save-temps gcc names its temporary files at random, and counts a few branches more or less for it, natively
# as
# well.
# The object file must not exist before: writing over it is another path.
check gcc gcc -save-temps -O2 -c unit.c -o unit.o

# Libraries' addresses, which hash functions may depend on, do not depend on the size of the kernel's vDSO and its data:
# these have a room of their own above them.
"$PCL" cat /proc/self/maps | sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) .* \(.*\)$/\1 \2 \3/p' > maps
while read -r start end name; do
	case $name in
	*/ld-linux-*) break ;;
	'[v'*) ;;
	*) below=$end ;;
	esac
done < maps
[ $((16#$start - 16#$below)) -ge $((16#10000)) ] || { echo "no room of 64 KiB below the dynamic linker:"; cat maps; status=1; }
exit $status
