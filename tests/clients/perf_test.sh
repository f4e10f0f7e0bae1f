# perf's own suite, natively and under pcl: what is Ok natively is Ok under pcl, and so are the tests that want samples
# of a
# hardware event. Only the quick ones; doc/perf-test.md has all. Tests go by their names: numbers change from version to
# version.
[ "$(id -u)" = 0 ] || { echo "not root: the suite is root's"; exit 77; }
command -v perf >/dev/null || { echo "no perf"; exit 77; }
perf test list </dev/null >list 2>&1 || { echo "this perf has no tests"; exit 77; }
status=0
fail() { echo "$*"; status=1; }

# Take long (tables of other machines' events, a process for each branch that was recorded), look at all processes of
# the machine
# (which come and go: they fail now and then), put probes into its kernel, or want what nobody here has.
slow='PMU events|Setup struct perf_event_attr|daemon operations|perf pipe recording|output linter'
slow+='|Check branch stack|Test data symbol'
slow+='|CoreSight|Intel PT|Arm|vfs_getname|[Pp]robe|BPF|bpf|LLVM|clang|offcpu|lock contention'

# Ok natively and not under pcl, each with its reason.
excepted() {
	case $1 in
	'x86 bp modify') ;;	    # ptrace is refused: doc/linux-quirks.md
	'perf all metric'*) ;;	    # without a PMU there is nothing to test; perf's tables have metrics of events
				    # that pcl refuses
	'Breakpoint accounting') ;; # skips: it fills the processor's breakpoints, and there is no end to pcl's
	*) return 1 ;;
	esac
}

# Want a hardware event: Ok under pcl if this perf has them.
gains='Number of exit events of a simple workload
Object code reading
Use a dummy software event to keep tracking
Perf time to TSC'

# The lines of tests and of subtests as "name<TAB>outcome".
results() { sed -nE 's/^ *[0-9.]+: (.*[^ ]) *: (Ok|FAILED!|Skip).*/\1\t\2/p'; }

outcome_under_pcl() { awk -F'\t' -v name="$1" '$1 == name { print $2; exit }' pcl.results; }

clocksource=$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null)
chosen=$(grep -vE "$slow" list | sed -n 's/^ *\([0-9]*\): .*/\1/p' | tr '\n' ' ')
timeout 80 perf test $chosen </dev/null >native 2>&1 || fail "natively: status $?"
timeout 120 "$PCL" perf test $chosen </dev/null >pcl 2>&1 || { fail "under pcl: status $?"; tail -n 3 pcl; }
results <native >native.results
results <pcl >pcl.results

[ "$(grep -c 'Ok$' native.results)" -ge 20 ] || fail "natively only $(grep -c 'Ok$' native.results) tests are Ok"
while IFS=$'\t' read -r name native; do
	[ "$native" = Ok ] || continue
	got=$(outcome_under_pcl "$name")
	[ "$got" = Ok ] || excepted "$name" || fail "$name: Ok natively, under pcl ${got:-nothing}"
done <native.results
while read -r name; do
	got=$(outcome_under_pcl "$name")
	# Records have times of the TSC only where the host itself keeps time by it.
	[ "$name: $got" = "Perf time to TSC: Skip" ] && [ "$clocksource" != tsc ] && continue
	[ "${got:-Ok}" = Ok ] || fail "$name: $got"
done <<<"$gains"
exit $status
