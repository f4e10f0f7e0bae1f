# What perf record can have in a sample, and beside the samples.
[ "$(id -u)" = 0 ] || { echo "not root: physical addresses and cgroups"; exit 77; }
source "$ROOT/tests/clients/perf_functions.bash"
every="-e instructions:u -c 100003"
watched=$(nm "$shape" | sed -n 's/^0*\([0-9a-f]*\) [a-zA-Z] watched$/\1/p')
sink=$(nm "$shape" | sed -n 's/^0*\([0-9a-f]*\) [a-zA-Z] sink$/\1/p')

# Addresses: those of the stores, of which nearly all are to one variable. Physical ones are not for users.
record -d --phys-data --data-page-size --code-page-size --weight -e cpu/mem_stores/u -c 1009 -- "$shape" 200
script -F ip,sym,addr,phys_addr,data_page_size,code_page_size,weight
most " $sink +0 +[0-9a-f]+ leaf( +|/)0 +4K 4K|$sink"
script -F phys_addr
most '^ *0 *$'
script -F data_page_size,code_page_size
most '4K 4K'
record -d -e "mem:0x$watched:w:u" -c 1 -- "$shape" 40
script -F addr
between 40 40 "^ *$watched *$"

# Registers: sp is within the stack, ip is the sample's.
record --user-regs=ip,sp,r11 $every -- "$shape" 200
script -F ip,uregs
most '^ *([0-9a-f]+) +ABI:2 +SP:0x7ff[0-9a-f]+ +IP:0x\1 +R11:0x[0-9a-f]+'
record --intr-regs=ip,sp,r11 $every -- "$shape" 200
script -F ip,iregs
most '^ *([0-9a-f]+) +ABI:2 +SP:0x7ff[0-9a-f]+ +IP:0x\1 +R11:0x[0-9a-f]+'

# Times, on each clock; hardware events have no others than these two. They do not run backwards, and lie between before
# and after.
record -T $every -- "$shape" 500
script -F time
sort -c -n text || fail "$what: times are not in order"
for clock in monotonic monotonic_raw; do
	record -k $clock $every -- "$shape" 200
	script -F time
	most '^ *[0-9]+\.[0-9]{6}: *$'
done
for clock in boottime tai; do
	record -k $clock -e cpu-clock:u -- "$shape" 5000
	script -F time
	most '^ *[0-9]+\.[0-9]{6}: *$'
done
before=$(date +%s)
record -k realtime -e cpu-clock:u -- "$shape" 5000
script -F time
awk -v from="$before" -v to="$(date +%s)" '$1 + 0 < from || $1 + 0 > to + 1 { exit 1 }' text ||
	fail "$what: not this time: $(head -n 1 text)"

# Records beside the samples.
record --switch-events $every -- sleep 0.05
perf script -i data --show-switch-events 2>/dev/null >text
between 1 1000 'PERF_RECORD_SWITCH'
record --namespaces --all-cgroups $every -- "$shape" 200
perf script -i data --show-namespace-events --show-cgroup-events 2>/dev/null >text
between 1 100 '\[0/net: '
script -F comm,ip,sym
most 'shape +[0-9a-f]+ leaf'
record --buildid-mmap $every -- "$shape" 200
perf script -i data --show-mmap-events 2>/dev/null >text
id=$(readelf -n "$shape" | sed -n 's/.*Build ID: //p')
between 1 10 "PERF_RECORD_MMAP2 .*<$id>.*r-xp .*/shape"
record $every -- "$shape" 200
perf script -i data --show-mmap-events --show-task-events 2>/dev/null >text
between 1 10 'PERF_RECORD_MMAP2 .*0x40[0-9a-f]+\(0x[0-9a-f]+\) @ .* r-xp .*/shape'
between 1 1 'PERF_RECORD_COMM exec: shape'
between 1 1 'PERF_RECORD_EXIT'

# Counts of each thread that ends.
record -s -e instructions:u -c 100003 -- "$shape" 200 3
timeout 30 perf report -i data --stdio -T -s sym 2>/dev/null >text
between 3 3 '^ +[0-9]+ +[0-9]+ +[0-9]{7}'
exit $status
