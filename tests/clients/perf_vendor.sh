# perf by its own tables of AMD's and Intel's processors: names of events, metrics, perf list; the counts are those of
# the generic events.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
status=0
fail() { echo "$*"; status=1; }
hello=$BUILD/tests/count/hello_static
unset PERF_CPUID

# as PROCESSOR CPUID COMMAND...
as() { processor=$1 cpuid=$2; shift 2; PERF_CPUID=$cpuid "$PCL" --processor="$processor" "$@"; }

# same PROCESSOR CPUID ONE=OTHER...: perf counts the same for both, and not nothing.
same()
{
	processor=$1 cpuid=$2
	shift 2
	for pair in "$@"; do
		as "$processor" "$cpuid" perf stat -x, -o csv -e "${pair%%=*}" -e "${pair#*=}" -- "$hello" >/dev/null 2>err ||
			fail "$processor: $pair: $(head -n 3 err)"
		[ "$(awk -F, 'NF > 3 { print $1 }' csv | sort -u | grep -c '^[1-9][0-9]*$')" = 1 ] &&
			[ "$(awk -F, 'NF > 3 && $1 !~ /^[1-9]/' csv)" = "" ] || fail "$processor: $pair: $(cat csv)"
	done
}

# absent PROCESSOR CPUID EVENT...
absent()
{
	processor=$1 cpuid=$2
	shift 2
	for event in "$@"; do
		as "$processor" "$cpuid" perf stat -x, -o csv -e "$event" -- "$hello" >/dev/null 2>err
		grep -q '<not supported>' csv || fail "$processor: $event: $(cat csv err)"
	done
}

amd="ex_ret_instr=instructions ex_ret_brn=branches ls_not_halted_cyc=cycles ex_ret_near_ret=cpu/returns/
	ex_ret_brn_tkn=cpu/branches_taken/ r1=rc0 r5300c0=rc0 cpu/instructions/=instructions
	cpu/branch-instructions/=branches cpu/cpu-cycles/=cycles"
# shellcheck disable=SC2086 # a list of words
same zen3 AuthenticAMD-25-1-1 $amd ex_ret_cond=cpu/branches_cond/ ex_ret_ind_brch_instr=cpu/branches_indirect/
absent zen3 AuthenticAMD-25-1-1 ex_ret_brn_misp ls_dispatch.ld_dispatch ex_ret_ops cpu/event=0xc0,cmask=1/ \
	cpu/event=0xc0,edge/ l1_dtlb_misses
same skylake GenuineIntel-6-55-4 inst_retired.any=instructions cpu_clk_unhalted.thread=cycles \
	br_inst_retired.all_branches=branches br_inst_retired.conditional=cpu/branches_cond/ \
	br_inst_retired.near_call=cpu/calls/ br_inst_retired.near_return=cpu/returns/ \
	br_inst_retired.near_taken=cpu/branches_taken/ mem_inst_retired.all_loads=cpu/mem_loads/ \
	mem_inst_retired.all_stores=cpu/mem_stores/ \
	cpu/branch-instructions/=branches cpu/cpu-cycles/=cycles
absent skylake GenuineIntel-6-55-4 br_misp_retired.all_branches longest_lat_cache.miss \
	uops_retired.retire_slots br_inst_retired.not_taken \
	mem_load_retired.l1_hit cpu/event=0xc0,any=1/
same icelake GenuineIntel-6-6A-6 inst_retired.any=instructions br_inst_retired.cond=cpu/branches_cond/ \
	br_inst_retired.indirect=cpu/branches_indirect/
absent icelake GenuineIntel-6-6A-6 br_inst_retired.cond_taken topdown.slots
absent zen1 AuthenticAMD-23-1-1 fp_sched_empty

# Metrics of instructions, branches, cycles, loads and stores are these counts' ratios. (The environment's size is in
# the counts.)
counted()
{
	as skylake GenuineIntel-6-55-4 perf stat -x, -o csv -e "$1" -- "$hello" >/dev/null
	awk -F, 'NF > 3 { print $1 }' csv
}
metric()
{
	as skylake GenuineIntel-6-55-4 perf stat -x, -o csv -M "$1" -- "$hello" >/dev/null 2>err
	want=$(echo "$2 $3" | awk '{ printf "%.2f", $1 / $2 }')
	awk -F, -v name="$1" -v want="$want" \
		'$NF ~ name { found = sprintf("%.2f", $(NF - 1)) == want } END { exit !found }' csv ||
		fail "metric $1 is not $want: $(cat csv err)"
}
instructions=$(counted instructions)
metric IPC "$instructions" "$(counted cycles)"
metric CPI "$(counted cycles)" "$instructions"
metric IpBranch "$instructions" "$(counted branches)"
metric IpTB "$instructions" "$(counted cpu/branches_taken/)"
metric IpCall "$instructions" "$(counted cpu/calls/)"
metric IpLoad "$instructions" "$(counted cpu/mem_loads/)"

# Samples are where those of the generic event are: on one CPU, since perf opens an event for each.
cpu=$(taskset -cp $$ | sed "s/.*: //; s/[,-].*//")
for event in instructions rc0; do
	taskset -c "$cpu" "$PCL" --processor=zen5 perf record -q -o "$event" -c 1009 -e "$event:u" \
		-- "$hello" >/dev/null 2>err ||
		fail "perf record: $(head -n 3 err)"
	perf script -i "$event" -F ip 2>/dev/null >"$event.ips"
done
[ -s rc0.ips ] && cmp -s instructions.ips rc0.ips || fail "samples of rc0 differ from those of instructions"

# What perf list shows of hardware and of the cpu PMU can be counted. perf shows events of its own tables that have no
# description as the kernel's: it shall have no table of this processor.
for processor in none zen5 skylake; do
	as $processor nobody-0-0 perf list hw cache pmu 2>/dev/null >text
	awk '/ardware (cache )?event\]/ { print $1 } match($0, " cpu/[^ ]*/") { print substr($0, RSTART + 1, RLENGTH - 1) }' \
		text >names
	[ "$(wc -l <names)" -ge 14 ] || fail "perf list: $(cat names)"
	while read -r name; do
		"$PCL" --processor=$processor perf stat -x, -o csv -e "$name" -- "$hello" >/dev/null 2>err </dev/null
		awk -F, 'NF > 3 && $1 ~ /^[0-9]+$/ { n++ } END { exit !n }' csv ||
			fail "perf list has $name: $(cat csv err)"
	done <names
done
exit $status
