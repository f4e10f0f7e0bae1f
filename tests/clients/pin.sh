# pcl --pin: ten runs count the same to the unit, each with another environment, under load (of what waits, four); and
# what is held still, item by item.
set -u
failed=0
fail() { echo "$*"; failed=1; }
programs=$BUILD/tests/clients
printf 'int f(int x) { return x * 3; }\n' > unit.c
seq 20000 > data
git init -q repository &&
	git -C repository -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q --allow-empty -m first

# Something else to do for the CPU, for as long as the test takes at most.
timeout 200 sh -c 'while :; do :; done' &
trap 'kill $! 2>/dev/null' EXIT

# The counts of some runs, each line once: the options of pcl, the program.
runs=10
some_runs()
{
	for run in $(seq $runs); do
		rm -f unit.o
		env "VARIABLE_$run=$(printf "%0$((run * run * 13))d" 7)" TERM=dumb$run \
			"$PCL" $1 count --csv -e instructions,branches -- "${@:2}" 2>&1 >output |
			awk -F, '/^(instructions|branches)/ { printf "%s %s ", $1, $5 }'
		echo "$(cksum < output)"
	done | sort -u
}

same()
{
	command -v "$1" > /dev/null || { echo "$1: not installed"; return; }
	lines=$(some_runs --pin "$@")
	case $lines in
	*$'\n'*) fail "$*: differs: $lines" ;;
	instructions\ *[0-9]\ branches\ *[0-9]\ *) echo "$*: $lines" ;;
	*) fail "$*: counts nothing: $lines" ;;
	esac
}

same /usr/bin/python3 -c 'import os, time
print(hash("a"), {"x", "y", "z"}, os.urandom(4), time.time(), time.perf_counter())'
same perl -e '%h = map { $_ => 1 } 1 .. 50; print keys %h, time, rand'
same gcc -O2 -c unit.c -o unit.o
same git -C repository log
same xz -2kc data
same ls -l /usr/include
if command -v rustc > /dev/null; then
	cat > hash.rs <<'END'
use std::collections::HashMap;
fn main() {
	let m: HashMap<u64, u64> = (0..2000).map(|i| (i * 7919 % 501, i)).collect();
	println!("{:?} {:?}", m.keys().next(), std::time::SystemTime::now());
}
END
	rustc -O hash.rs 2>/dev/null && same ./hash
fi
runs=4
same "$programs/virtual_time" exact
# near PER_CENT COMMAND...: threads and processes at once, of which it is not held still who comes first, and process
# numbers.
near()
{
	command -v "$2" > /dev/null || { echo "$2: not installed"; return; }
	some_runs --pin "${@:2}" | awk -v name="${*:2}" -v most=$1 '
		{ if (!min || $2 < min) min = $2; if ($2 > max) max = $2 }
		END { printf "%s: %d to %d instructions\n", name, min, max; exit !(min > 100000 && max - min < min * most / 100) }' ||
		fail "${*:2}: differs by more than $1 %"
}
near 1 bash -c 'for i in 1 2 3; do (echo $SECONDS); done; mktemp -u'
near 1 node -e 'console.log(new Map([["a", Math.random()]]), Date.now())'
near 5 go version

# A small limit of the stack is that of what the program uses: the steps at its top, 192 KiB, are not part of it.
counted() { "$PCL" --pin count --csv -e instructions -- ls / 2>&1 | awk -F, '/^instructions/ { print $5 }'; }
usual=$(counted)
small=$(ulimit -S -s 100; counted)
[ -n "$usual" ] && [ "$small" = "$usual" ] || fail "ulimit -s 100: $small instructions, else $usual"

# Runs of one session begin alike, too.
hashes='%h = map { $_ => 1 } 1 .. 50; print keys %h, time'
"$PCL" --pin count -r 3 --csv -o csv -e instructions -- perl -e "$hashes" > /dev/null
grep -q '^instructions,.*,yes$' csv || fail "count -r 3: $(cat csv)"

# Every way to wait ends, timers too.
"$PCL" --pin "$programs/virtual_time" > out 2>&1 || fail "virtual time: $(cat out)"

# Virtual time does not depend on how code is translated, nor on what is counted.
"$PCL" --pin "$programs/virtual_time" exact > out
for way in --one-insn-blocks --no-traces --stress=poll,restart; do
	"$PCL" --pin $way "$programs/virtual_time" exact | cmp -s - out || fail "another time with $way"
done
"$PCL" --pin count -e branches,cycles -o csv -- "$programs/virtual_time" exact | cmp -s - out ||
	fail "another time where other events are counted"

# says OPTIONS WANT COMMAND...: what it prints.
says()
{
	got=$("$PCL" $1 "${@:3}" 2>&1)
	[ "$got" = "$2" ] || fail "pcl $1 ${*:3}: $got, not $2"
}

export KEPT=1 DROPPED=2
says --pin=env "" sh -c 'echo $DROPPED$KEPT'
says "--pin --keep-env=NONE,KEPT" 1 sh -c 'echo $DROPPED$KEPT'
says --pin=-env 21 sh -c 'echo $DROPPED$KEPT'
says --pin=clock 2030-01-01 date -u +%F
says --pin=cpus 1 nproc
says --pin=cpus 1 sh -c 'taskset -c 0-1000 nproc'
says --pin=cpus 1 nproc --all
says --pin=-cpus "$(nproc) $(nproc --all)" sh -c 'echo $(nproc) $(nproc --all)'
says --pin=memory "8388608 4194304" \
	sh -c 'awk "/^Mem(Total|Free)/ { printf \"%s%s\", s, \$2; s = \" \" }" /proc/meminfo'
says --pin=memory "8589934592 1" python3 -c 'import ctypes
info = (ctypes.c_ulong * 14)()
assert not ctypes.CDLL(None).sysinfo(info)
print(info[4], info[10] & 0xffff)'
says --pin=memory,cpus "cpu cpu0 1" \
	sh -c 'cat /proc/stat > s; grep -o "^cpu[0-9]*" s | sed "s/[1-9]/0/" | tr "\n" " "; grep -c btime s'
cat > resident.py <<'END'
import resource
touched = b"x" * (32 << 20)
status = dict(line.split(":\t") for line in open("/proc/self/status"))
stat = open("/proc/self/stat").read().rsplit(")")[1].split()
print(status["VmRSS"].split()[0], status["VmHWM"].split()[0], int(open("/proc/self/statm").read().split()[1]) * 4,
      int(stat[21]) * 4, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
      status["voluntary_ctxt_switches"].strip(), stat[7])
END
says --pin "16384 16384 16384 16384 16384 0 0" python3 resident.py
[ "$("$PCL" --pin=-memory,-clock python3 resident.py | awk '{ print ($1 > 32768), ($3 > 32768), ($4 > 32768), ($5 > 32768), ($7 > 0) }')" \
	= "1 1 1 1 1" ] || fail "--pin=-memory: what is resident is held still"
says --pin=cpu x86-64-v3 sh -c 'grep -o "x86-64-v." /proc/cpuinfo | sort -u'
says --pin=-cpu "" sh -c 'grep -o "x86-64-v." /proc/cpuinfo'
says --cpu=x86-64-v2 "" sh -c 'grep -w avx2 /proc/cpuinfo; true'
loader=/lib64/ld-linux-x86-64.so.2
says --cpu=x86-64-v2 "  x86-64-v2 (supported, searched)" sh -c "$loader --help | grep 'x86-64-v.*supported'"
says --cpu=x86-64-v3 "  x86-64-v3 (supported, searched)
  x86-64-v2 (supported, searched)" sh -c "$loader --help | grep 'x86-64-v.*supported'"
# Whether CPUID has the bits of rdrand and rdseed, which the levels have not and the host may have.
random_bits()
{
	"$PCL" "$@" $loader --list-diagnostics > bits || fail "ld.so --list-diagnostics"
	word=$(sed -n 's/.*features\[0x0\].cpuid\[0x2\]=//p' bits)
	other=$(sed -n 's/.*features\[0x1\].cpuid\[0x1\]=//p' bits)
	echo $((word >> 30 & 1))$((other >> 18 & 1))
}
if $loader --list-diagnostics 2>/dev/null | grep -q 'features\[0x1\].cpuid'; then
	[ "$(random_bits --pin=random)" = 00 ] || fail "--pin=random: CPUID has rdrand or rdseed"
	[ "$(random_bits --pin=-random,-cpu)" = "$(random_bits)" ] ||
		fail "--pin=-random: other bits than without --pin"
fi
# Where a process's stack begins: VARIABLE=VALUE OPTION NAME.
stack() { env "$1" "$PCL" "$2" "$3" '{ print $28 }' /proc/self/stat; }
ln -s "$(command -v awk)" a_longer_name
long=A=$(printf %03000d 1)
[ "$(stack A=1 --pin=stack awk)" = "$(stack "$long" --pin=stack ./a_longer_name)" ] || fail "the stack begins elsewhere"
[ "$(stack A=1 --pin=-stack,-env awk)" != "$(stack "$long" --pin=-stack,-env awk)" ] ||
	fail "the stack begins there without --pin=stack, too"
python=/usr/bin/python3
if [ -x $python ]; then
	cat > terminal.py <<'END'
import fcntl, os, pty, struct, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 50, 132, 0, 0))
print(*os.get_terminal_size(slave))
END
	says --pin=terminal "80 24" $python terminal.py
	says --pin=-terminal "132 50" $python terminal.py
	says "" "132 50" $python terminal.py
fi

# Directories: what readers are promised holds natively and here; the order is that of no file system.
for how in "" "$PCL --pin" "$PCL --pin=-directories"; do
	(mkdir reading && cd reading && $how "$programs/directories") || fail "directories, $how"
	rm -rf reading
done
[ ! -w /dev/shm ] || elsewhere=$(mktemp -d -p /dev/shm)
names="a b c .d longer-name $(seq -s ' ' 300)"
order=$("$PCL" --pin=directories "$programs/directories" $names)
[ "$(wc -w <<< "$order")" = 307 ] || fail "the order of a directory: $order"
[ "$order" = "$(cd "${elsewhere:-.}"; "$PCL" --pin "$programs/directories" $(tac -s ' ' <<< "$names"))" ] ||
	fail "directories: another order with files made in another one, in another file system"
[ "$order" = "$("$PCL" --pin=-directories "$programs/directories" $names)" ] &&
	fail "--pin=-directories: the same order"
rm -rf "${elsewhere:-reading}"

# Random numbers: the same each time, by every way, but not those of another process; other files are as they are.
"$PCL" --pin=random head -c 64 /dev/urandom > one && "$PCL" --pin=random head -c 64 < /dev/urandom > two
cmp one two || fail "/dev/urandom differs"
"$PCL" --pin=random sh -c 'exec 3< /dev/urandom; exec cat' < one | cmp - one || fail "a file is read as /dev/urandom"
[ "$(sort -u <("$PCL" --pin sh -c 'for i in 1 2 3; do mktemp -u; done') | wc -l)" = 3 ] ||
	fail "processes have the same random numbers"
again='mktemp -u; exec sh -c "mktemp -u; exec sh -c \"mktemp -u; true\""'
[ "$(sort -u <("$PCL" --pin sh -c "$again") | wc -l)" = 3 ] ||
	fail "a program that is executed has the random numbers of one before"
"$PCL" --pin=random count -o csv -- head -c 64 < /dev/urandom > four
cmp one four || fail "/dev/urandom as standard input of pcl count differs"
two='mktemp -u; mktemp -u'
[ "$("$PCL" --pin sh -c "$two")" = "$("$PCL" --pin sh -c "$two")" ] || fail "mktemp differs"
"$PCL" --pin=-random head -c 64 /dev/urandom | cmp -s - one && fail "--pin=-random is the same"

# Warm starts: images are used, with what is counted and without, and change no count.
images()
{
	"$PCL" --cache-dir=cache --stats --pin "$@" 2> stats > /dev/null
	sed -n 's/^ *\([0-9]*\) *programs that began with an image.*/\1/p' stats
}
count()
{
	"$PCL" --cache-dir=cache "$@" count --csv -e instructions -- $python -c 'import time; print(time.time() > 1)' \
		2>&1 > /dev/null | cut -d, -f5
}
[ ! -x $python ] || {
	pinned=$(count --pin) plain=$(PYTHONHASHSEED=0 count)
	for way in "--pin" "--pin --no-cache"; do
		[ "$(count $way)" = "$pinned" ] || fail "another count with $way"
	done
	[ "$(PYTHONHASHSEED=0 count)" = "$plain" ] || fail "another count without --pin"
	images $python -c pass > /dev/null
	[ "$(images $python -c pass)" = 1 ] || fail "no image was used"
	images count -e instructions -o csv -- $python -c pass > /dev/null
	[ "$(images count -e instructions -o csv -- $python -c pass)" = 2 ] ||
		fail "no images for pcl count and its program"
}
exit $failed
