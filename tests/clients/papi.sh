# PAPI and libpfm by their tables of AMD's and Intel's processors: what is derived of instructions, branches and cycles
# is
# right to the unit, everything else is refused when it is opened. LIBPFM_FORCE_PMU stands for the processor, since
# libpfm
# may have no table for this one.
[ -e /usr/include/papi.h ] && command -v papi_avail >/dev/null || { echo "PAPI is not installed"; exit 77; }
unset LIBPFM_FORCE_PMU
ok=0
fail() { echo "$1"; ok=1; }

# Counts around so many rounds of a loop: what 1000 more rounds count, of each event named.
cat > t.c <<'END2'
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
static void rounds(long n) {
	__asm__ volatile("1: push %0; pop %0; call 2f; dec %0; jnz 1b; jmp 3f; 2: ret; 3:" : "+r"(n) : : "memory", "cc");
}
static int count(int set, long n, long long *v) {
	if (PAPI_start(set)) return -1;
	rounds(n);
	return PAPI_stop(set, v);
}
int main(int argc, char **argv) {
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 2;
	for (int i = 1; i < argc; i++) {
		int set = PAPI_NULL, err; long long a = 0, b = 0, c = 0;
		if (PAPI_create_eventset(&set)) return 2;
		err = PAPI_add_named_event(set, argv[i]);
		if (err || count(set, 10, &c) || count(set, 1000, &a) || count(set, 2000, &b)) printf("%s none\n", argv[i]);
		else printf("%s %lld\n", argv[i], b - a);
	}
	return 0;
}
END2
gcc -o t t.c -lpapi || exit 1

# per_round PROCESSOR LIBPFM'S NAME EVENT=COUNT...: of 1000 rounds; none: it cannot be added.
per_round()
{
	processor=$1 table=$2
	shift 2
	events=$(printf '%s\n' "$@" | sed 's/=[a-z0-9]*$//')
	# shellcheck disable=SC2086 # a list of words
	LIBPFM_FORCE_PMU=$table "$PCL" --processor="$processor" ./t $events >seen 2>&1 || fail "$table: the program failed"
	printf '%s\n' "$@" | sed 's/=\([a-z0-9]*\)$/ \1/' | diff - seen || fail "$table: wrong counts"
}

# push, pop, call, ret, dec and jnz; one conditional branch of three, all taken.
per_round zen3 amd64_fam19h_zen3 PAPI_TOT_INS=6000 PAPI_BR_INS=3000 PAPI_BR_TKN=3000 \
	RETIRED_INSTRUCTIONS=6000 RETIRED_BRANCH_INSTRUCTIONS=3000 RETIRED_TAKEN_BRANCH_INSTRUCTIONS=3000 \
	RETIRED_NEAR_RETURNS=1000 \
	RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS=1000 RETIRED_INDIRECT_BRANCH_INSTRUCTIONS=0 \
	PAPI_BR_MSP=none PAPI_L1_DCA=none PAPI_TLB_IM=none PAPI_FP_OPS=none RETIRED_INSTRUCTIONS:c=1=none
per_round zen1 amd64_fam17h_zen1 PAPI_TOT_INS=6000 PAPI_BR_INS=3000 FP_SCHEDULER_EMPTY=none PAPI_L1_ICM=none
per_round skylake skx PAPI_TOT_INS=6000 PAPI_BR_INS=3000 PAPI_BR_CN=1000 PAPI_BR_UCN=2000 \
	PAPI_LD_INS=2000 PAPI_SR_INS=2000 PAPI_LST_INS=4000 \
	BR_INST_RETIRED:NEAR_CALL=1000 BR_INST_RETIRED:NEAR_RETURN=1000 BR_INST_RETIRED:NEAR_TAKEN=3000 \
	PAPI_BR_NTK=none PAPI_L3_TCM=none
per_round icelake icl INST_RETIRED:ANY_P=6000 \
	BR_INST_RETIRED:COND=1000 BR_INST_RETIRED:COND_TAKEN=none BR_INST_RETIRED:INDIRECT=0

# The processor's own name for cycles is the generic event's number.
LIBPFM_FORCE_PMU=amd64_fam19h_zen3 "$PCL" --processor=zen3 ./t PAPI_TOT_CYC CYCLES_NOT_IN_HALT PAPI_TOT_CYC >seen
[ "$(awk '$2 > 1000 { print $2 }' seen | uniq -c | awk '{ print $1 }')" = 3 ] || fail "cycles: $(cat seen)"

# papi_avail -c opens each: what is left is what can be counted.
available() { LIBPFM_FORCE_PMU=$2 "$PCL" --processor="$1" papi_avail -c | awk '/^PAPI_/ { printf "%s ", $1 }'; }
[ "$(available zen3 amd64_fam19h_zen3)" = "PAPI_BR_TKN PAPI_TOT_INS PAPI_BR_INS PAPI_TOT_CYC " ] ||
	fail "papi_avail -c on Zen 3: $(available zen3 amd64_fam19h_zen3)"
presets="PAPI_BR_UCN PAPI_BR_CN PAPI_TOT_INS PAPI_LD_INS PAPI_SR_INS PAPI_BR_INS "
presets+="PAPI_TOT_CYC PAPI_LST_INS PAPI_REF_CYC "
[ "$(available skylake skx)" = "$presets" ] ||
	fail "papi_avail -c on Skylake: $(available skylake skx)"

# Several at once, and the same in a second run.
command_line() { LIBPFM_FORCE_PMU=amd64_fam19h_zen3 "$PCL" --processor=zen3 papi_command_line "$@" |
	grep '^[PRC].* : ' ; }
command_line PAPI_TOT_INS PAPI_BR_INS PAPI_TOT_CYC RETIRED_INSTRUCTIONS RETIRED_BRANCH_INSTRUCTIONS \
	CYCLES_NOT_IN_HALT >seen
[ "$(awk '{ print $NF }' seen | sort -u | wc -l)" = 3 ] && [ "$(wc -l <seen)" = 6 ] ||
	fail "papi_command_line: $(cat seen)"
exit $ok
