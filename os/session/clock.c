/* See clock.h. */
#include <linux/time.h>
#include "event/host.h"
#include "os/session/arena.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/session/vdso.h"
#include "rt/string.h"
#include "rt/sys.h"

#define NS 1000000000ul
#define MEASURE_NS 3000000ul /* two pairs of clocks this far apart give the rate to some 15 ppm */

u64 host_clock_by_id(s32 clockid)
{
	u64 ts[2] = {0, 0};

	if (vdso_clock_gettime(clockid, ts))
		sys2(__NR_clock_gettime, clockid, ts);
	return ts[0] * NS + ts[1];
}

u64 host_clock_mono(void)
{
	return host_clock_by_id(CLOCK_MONOTONIC);
}

/* ---- the time-stamp counter ---- */

/* Without /sys the processor's word must do. */
void clock_look_around(struct session_clock *clock)
{
	char name[32];
	long n = proc_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof(name));

	clock->tsc_trusted = n < 0 || !strcmp(name, "tsc\n");
	clock->in_vdso =
		clock->tsc_trusted || !strcmp(name, "kvm-clock\n") || !strcmp(name, "hyperv_clocksource_tsc_page\n");
}

static bool tsc_is_clock(void)
{
	return clock_tsc_constant() && arena()->clock.tsc_trusted;
}

static u32 measure(const struct clock_pair *start)
{
	struct clock_pair now;
	u64 ns, cycles, mult;

	if (!start->tsc || !tsc_is_clock() || held_still(PIN_CLOCK)) /* the guest's TSC is another one */
		return CLOCK_MULT_NONE;
	do
		now = clock_read_pair(host_clock_mono);
	while (now.mono - start->mono < MEASURE_NS);
	if (now.tsc <= start->tsc)
		return CLOCK_MULT_NONE;
	for (ns = now.mono - start->mono, cycles = now.tsc - start->tsc; ns >> 32; ns >>= 1)
		cycles >>= 1;
	mult = (ns << CLOCK_SHIFT) / MAX(cycles, 1ul);
	return mult > CLOCK_MULT_FIRST && mult <= 0xffffffff ? (u32)mult : CLOCK_MULT_NONE;
}

static u64 scaled(u64 tsc, u32 mult)
{
	return (u64)((unsigned __int128)tsc * mult >> CLOCK_SHIFT);
}

/* Several may measure at once: the first one's result is everyone's. */
static u32 multiplier(void)
{
	struct session_clock *c = &arena()->clock;
	u32 mult = __atomic_load_n(&c->mult, __ATOMIC_ACQUIRE), unknown = CLOCK_MULT_UNKNOWN;

	if (likely(mult != CLOCK_MULT_UNKNOWN))
		return mult;
	mult = measure(&c->start);
	if (__atomic_compare_exchange_n(&c->mult, &unknown, mult, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mult;
	return unknown;
}

bool host_tsc(struct host_tsc *out)
{
	const struct clock_pair *start = &arena()->clock.start;
	u32 mult = multiplier();

	if (mult < CLOCK_MULT_FIRST)
		return false;
	*out = (struct host_tsc){.mult = mult, .shift = CLOCK_SHIFT, .zero = start->mono - scaled(start->tsc, mult)};
	return true;
}

/* This process's own, once it is known; zero is written first. */
static struct host_tsc known;

static u64 clock_perf_slowly(void)
{
	struct host_tsc tsc;

	if (!host_tsc(&tsc))
		return host_clock_mono();
	known.zero = tsc.zero;
	__atomic_store_n(&known.mult, tsc.mult, __ATOMIC_RELEASE);
	return tsc.zero + scaled(clock_tsc(), tsc.mult);
}

u64 host_clock_perf(void)
{
	u32 mult = __atomic_load_n(&known.mult, __ATOMIC_ACQUIRE);

	return likely(mult) ? known.zero + scaled(clock_tsc(), mult) : clock_perf_slowly();
}
