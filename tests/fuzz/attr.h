/* The attr of an event of the random caller. */
#ifndef TESTS_FUZZ_ATTR_H
#define TESTS_FUZZ_ATTR_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include "tests/fuzz/probe.h"
#include "tests/fuzz/work.h"

#define SIGNALS_APART 10000 /* instructions */
/* at least between two samples of a clock: several that signal leave no time for anything else */
#define CLOCK_NS 1000000

/* Or switches, which are as frequent as the kernel makes them. */
static int is_clock(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config != PERF_COUNT_SW_PAGE_FAULTS &&
	       a->config != PERF_COUNT_SW_PAGE_FAULTS_MIN && a->config != PERF_COUNT_SW_PAGE_FAULTS_MAJ;
}

/* Its overflows come faster than a handler of their signal ends: the program would not get on. */
static int signals_without_end(const struct perf_event_attr *a)
{
	return a->type != PERF_TYPE_BREAKPOINT && !a->freq && a->sample_period < SIGNALS_APART && !is_clock(a);
}

/* Page faults; or tracepoints of system calls and tasks, whose ids are the kernel's own. */
static void fault_attr(struct perf_event_attr *a, uint32_t what, int portable)
{
	a->type = PERF_TYPE_SOFTWARE;
	a->config = what % 3 == 0 ? PERF_COUNT_SW_PAGE_FAULTS :
		    what % 3 == 1 ? PERF_COUNT_SW_PAGE_FAULTS_MIN :
				    PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	if (portable || what / 3 % 2 || !tracepoint_ids[what / 6 % TRACEPOINTS])
		return;
	a->type = PERF_TYPE_TRACEPOINT;
	a->config = tracepoint_ids[what / 6 % TRACEPOINTS];
}

/* portable: as every kernel allows it. */
static void fill_attr(struct perf_event_attr *a, uint32_t what, uint32_t bits, uint32_t how,
		      int portable)
{
	static const uint64_t periods[] = {1, 7, 100, 1000, 10007, 100003, 1ul << 40, 1ul << 62};
	static const uint64_t sample_bits[] = {
		PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR, PERF_SAMPLE_READ,
		PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD, PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_RAW, PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER,
		PERF_SAMPLE_WEIGHT, PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_REGS_INTR, 1u << 21,
		1u << 22, 1u << 23};
	static const uint64_t counts[] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
		PERF_COUNT_HW_REF_CPU_CYCLES, PERF_COUNT_HW_BUS_CYCLES};

	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	switch (what % 6) {
	case 0:
	case 1:
		a->type = PERF_TYPE_HARDWARE;
		a->config = counts[what / 6 % 5];
		break;
	case 2:
		a->type = PERF_TYPE_RAW;
		a->config = 1 + what / 6 % 9;
		break;
	case 3:
		a->type = PERF_TYPE_SOFTWARE;
		a->config = what / 6 % 10;
		break;
	case 4:
		fault_attr(a, what / 6, portable);
		break;
	default:
		place_attr(a, what / 6);
		break;
	}
	a->exclude_kernel = bits % 16 != 15 || portable;
	a->exclude_hv = 1;
	a->disabled = bits >> 4 & 1;
	a->inherit = bits >> 5 & 1;
	a->enable_on_exec = (bits >> 6 & 3) == 3;
	a->mmap = a->mmap2 = bits >> 8 & 1;
	a->comm = a->comm_exec = bits >> 9 & 1;
	a->task = bits >> 10 & 1;
	a->mmap_data = bits >> 11 & 1;
	a->context_switch = bits >> 12 & 1;
	a->inherit_stat = bits >> 13 & 1;
	a->write_backward = (bits >> 14 & 7) == 7;
	a->pinned = (bits >> 17 & 3) == 3;
	a->exclusive = (how >> 21 & 7) == 7;
	a->watermark = bits >> 19 & 1;
	a->wakeup_events = bits >> 20 & 7;
	a->precise_ip = a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_RAW ? bits >> 23 & 3 : 0;
	a->remove_on_exec = (bits >> 21 & 7) == 7 && !a->enable_on_exec;
	a->sigtrap = (bits >> 25 & 7) == 7 && a->remove_on_exec;
	a->exclude_callchain_kernel = 1;
	a->sample_id_all = 1;
	a->read_format = bits >> 25 & 31;
	a->sample_type = PERF_SAMPLE_IDENTIFIER;
	a->sample_period = periods[how % 8];
	if (how >> 3 & 1) {
		a->freq = 1;
		a->sample_freq = how >> 4 & 1 && a->type != PERF_TYPE_SOFTWARE ? 4000 : 99;
	}
	if (how >> 5 & 1)
		a->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	for (uint32_t i = 0, h = how >> 6; i < 3; i++, h /= 32)
		if (h % 32 < sizeof(sample_bits) / sizeof(*sample_bits))
			a->sample_type |= sample_bits[h % 32];
	a->branch_sample_type =
		PERF_SAMPLE_BRANCH_USER | (bits >> 30 & 1 ? PERF_SAMPLE_BRANCH_CALL_STACK : PERF_SAMPLE_BRANCH_ANY);
	a->sample_regs_user = a->sample_regs_intr = 0xff0fff;
	a->sample_stack_user = 8u << how % 8;
	if ((how >> 28) % 8 == 7)
		a->sample_period = 0;
	if (a->sample_period && !a->freq && a->sample_period < CLOCK_NS && is_clock(a))
		a->sample_period = CLOCK_NS;
	a->sigtrap &= !signals_without_end(a);
}

#endif
