/*
 * From bytes to fragments: entries, exits and where they lead to, counts and registers at every place, links, what
 * invalidation undoes; and that what was made does what the bytes say.
 */
#include "tests/unit/dbt/guest.h"

#define SYSCALL 0x0f, 0x05

/* ---- blocks ---- */

static void test_entries(void)
{
	static const u8 code[] = {
		0x48, 0x01, 0xd8, /* 0: add %rbx, %rax */
		0x75, 0x05,	  /* 3: jne 10 */
		0x90,		  /* 5: nop */
		0xe8, 0x04, 0, 0, 0, /* 6: call 15 */
		0xc3,		  /* 11 */
		0x0f, 0x0b, 0x90, /* 12: ud2 */
		0xff, 0xc9,	  /* 15: dec %ecx */
		0xc3,		  /* 17: ret */
	};
	static const u64 blocks[] = {0, 5, 15};
	const struct frag *f;
	u32 entry;

	guest_code(code, sizeof(code));
	entry = guest_entry(CODE, 0);
	f = frag_of(entry);
	expect(entry && f->pc == CODE);
	expect_long(f->nentry, ARRAY_SIZE(blocks)); /* past the jne, and into the call */
	for (u32 i = 0; i < f->nentry; i++) {
		expect_long(cache.entry[f->entry + i].pc, CODE + blocks[i]);
		expect_long(cache_find(&cache.variant[f->variant], CODE + blocks[i]), f->entry + i);
	}
	expect(!cache_find(&cache.variant[f->variant], CODE + 3));
	expect_long(f->nexit, 1);
	expect_long(cache.exit[f->exit].kind, EXIT_BRANCH);
	expect_long(cache.exit[f->exit].target, CODE + 10);
	expect(!cache.exit[f->exit].linked && leads_to(&cache.exit[f->exit]) == cache.exit[f->exit].stub);
	expect(f->lookup > f->host && f->lookup < f->host_end); /* the ret's */
	expect_long(cache_frag_at(f->host), entry ? cache.entry[entry].frag : 0);
	expect_long(cache_frag_at(f->host_end - 1), cache.entry[entry].frag);
	expect(cache_frag_at(f->host_end) != cache.entry[entry].frag);
}

/* What ends a block is left for the caller by an exit that says so. */
static void test_stops(void)
{
	static const struct {
		u8 code[4];
		enum exit_kind kind;
		u64 target;
	} stops[] = {
		{{SYSCALL}, EXIT_SYSCALL, 2}, {{0xcd, 0x80}, EXIT_SYSENTER, 0}, {{0x0f, 0x33}, EXIT_RDPMC, 0},
		{{0x0f, 0xa2}, EXIT_CPUID, 0}, {{0x0f, 0x01, 0xd0}, EXIT_XGETBV, 0},
	};

	for (u32 i = 0; i < ARRAY_SIZE(stops); i++) {
		const struct frag *f;

		guest_code(stops[i].code, sizeof(stops[i].code));
		f = frag_of(guest_entry(CODE, CPU_WANT_BLOCKS));
		expect_long(f->nexit, 1);
		expect_long(cache.exit[f->exit].kind, stops[i].kind);
		expect_long(cache.exit[f->exit].target, CODE + stops[i].target);
		expect_long(cache.exit[f->exit].patch, 0);
	}
}

static void test_faults(void)
{
	static const u8 undefined[] = {0x90, 0x0f, 0x0b, 0x06}; /* ud2 is translated; 06 is none in 64-bit mode */
	struct dbt_fault fault = {0};

	guest_code(undefined, sizeof(undefined));
	guest_at(CODE + 3, 0);
	expect(!run_find(cpu, 0, false, &fault));
	expect(fault.signo == 4 && fault.addr == CODE + 3);
	guest_at(CODE + CODE_SIZE, 0);
	expect(!run_find(cpu, 0, false, &fault));
	expect(fault.signo == 11 && fault.code == 1 && fault.addr == CODE + CODE_SIZE);
	memset((void *)(CODE + CODE_SIZE - 2), 0x90, 2); /* then nothing is mapped: found out when it gets there */
	expect(guest_entry(CODE + CODE_SIZE - 2, 0));
}

/* What was in the tables before, of a half of the cache that is filled again, does not matter. */
static void test_used_tables(void)
{
	static const u8 code[] = {0x48, 0x01, 0xd8, 0x48, 0x8b, 0x03, 0x75, 0x05};
	struct rec_kinds kinds[2][32];
	struct rec recs[2][32];

	for (u32 i = 0; i < 2; i++) {
		const struct frag *f;

		guest_code(code, sizeof(code)); /* add; mov (%rbx), %rax; jne, and no instruction behind it */
		memset(&cache.kinds[cache.nrec], i ? 0x55 : 0, sizeof(kinds[0]));
		memset(&cache.rec[cache.nrec], i ? 0x55 : 0, sizeof(recs[0]));
		f = frag_of(guest_entry(CODE, CPU_WANT_BLOCKS | CPU_WANT_KINDS));
		expect(f->nrec >= 4 && f->nrec <= 32);
		memset(kinds[i], 0, sizeof(kinds[i]));
		memset(recs[i], 0, sizeof(recs[i]));
		memcpy(kinds[i], &cache.kinds[f->rec], f->nrec * sizeof(kinds[0][0]));
		memcpy(recs[i], &cache.rec[f->rec], f->nrec * sizeof(recs[0][0]));
	}
	expect(!memcmp(kinds[0], kinds[1], sizeof(kinds[0])));
	expect(!memcmp(recs[0], recs[1], sizeof(recs[0])));
}

/* ---- links ---- */

static void test_links(void)
{
	/* add %rbx, %rax; jmp 4096, the next page */
	static const u8 code[] = {0x48, 0x01, 0xd8, 0xe9, 0xf8, 0x0f, 0, 0};
	static const u8 other[] = {0x48, 0xff, 0xc8, 0xc3};		     /* dec %rax; ret */
	struct dbt_fault fault;
	struct exit *x;
	u32 first, second, generation;

	guest_code(code, sizeof(code));
	dbt_options.no_traces = true; /* else it goes on behind the jmp, and so is of both pages */
	first = guest_entry(CODE, CPU_WANT_BLOCKS);
	x = &cache.exit[frag_of(first)->exit];
	expect(frag_of(first)->nexit == 1 && x->target == CODE + PAGE_SIZE && !x->linked);
	memcpy((void *)(CODE + PAGE_SIZE), other, sizeof(other));
	cpu->rip = x->target;
	second = run_find(cpu, frag_of(first)->exit, false, &fault);
	expect(second && x->linked == second && leads_to(x) == cache.entry[second].host);
	expect_long(cache.entry[second].in, frag_of(first)->exit);
	expect(cache.entry[second].pc == CODE + PAGE_SIZE && cache.entry[second].frag != cache.entry[first].frag);

	generation = cache.generation;
	dbt_invalidate(CODE + PAGE_SIZE + 8, CODE + PAGE_SIZE + 9);
	expect(frag_of(second)->dead && !frag_of(first)->dead && cache.generation != generation);
	expect(!cache_find(&cache.variant[x->variant], CODE + PAGE_SIZE));
	expect_long(cache_find(&cache.variant[x->variant], CODE), first);
	expect(!x->linked && leads_to(x) == x->stub && !cache.entry[second].in);
	expect_long(run_find(cpu, frag_of(first)->exit, false, &fault), x->linked); /* once more, another one */
	expect(x->linked && x->linked != second && leads_to(x) == cache.entry[x->linked].host);
	dbt_invalidate(CODE, CODE + 1);
	expect(frag_of(first)->dead && !cache_find(&cache.variant[x->variant], CODE));
	dbt_options.no_traces = false;
}

/* What an indirect branch led to has a landing, which goes with it. */
static void test_landings(void)
{
	static const u8 code[] = {0x90, 0xc3};
	struct dbt_fault fault;
	struct variant *v;
	u32 entry;

	guest_code(code, sizeof(code));
	guest_at(CODE, 0);
	entry = run_find(cpu, 0, true, &fault);
	v = &cache.variant[frag_of(entry)->variant];
	expect(cache.entry[entry].landing);
	expect_long((u32)(u64)cache.miss + v->ibl[(u16)CODE], cache.entry[entry].landing);
	dbt_invalidate(CODE, CODE + 1);
	expect_long(v->ibl[(u16)CODE], 0);
}

/* ---- places ---- */

/* gregs of ucontext, in the order of our register numbers. */
static const u8 word_of[16] = {13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};

static void host_context(u64 greg[23], u64 host)
{
	memset(greg, 0, 23 * sizeof(u64));
	for (u32 r = 0; r < 16; r++)
		greg[word_of[r]] = 0x1000 + r;
	greg[16] = host;
	greg[17] = 0x246;
}

static void test_places(void)
{
	static const u8 code[] = {
		0x48, 0xff, 0xc0,			  /* 0: inc %rax */
		0x4d, 0x0f, 0xaf, 0xdb,			  /* 3: imul %r11, %r11: needs a register in its place */
		0x4c, 0x03, 0x1d, 0x10, 0, 0, 0,	  /* 7: add 16(%rip), %r11 */
		0x0f, 0x94, 0xc1,			  /* 14: sete %cl */
		SYSCALL,				  /* 17 */
	};
	static const u64 at[] = {0, 3, 7, 14, 17};
	const struct frag *f;
	u32 insns = 0, spilled = 0, wrong = 0;
	bool counted = false;

	guest_code(code, sizeof(code));
	f = frag_of(guest_entry(CODE, CPU_WANT_BLOCKS));
	cpu->stolen = 0xabcd;
	cpu->spill[0] = 0x5a5a;
	for (u32 host = f->host; host < f->host_end; host++) {
		u32 rec = cache_rec_at(f, host);
		const struct rec *r = &cache.rec[rec];
		struct cpu out;
		u64 greg[23];
		bool exact = f->host + r->host == host;
		u32 reg = r->spills & 15;

		host_context(greg, host);
		wrong += dbt_locate(cpu, greg, &out) != (exact ? DBT_AT_BOUNDARY : DBT_AT_INSIDE);
		wrong += out.rip != CODE + (u64)(s64)r->guest || out.stolen != 0xabcd || out.rflags != 0x246;
		for (u32 k = 0; k < 16; k++)
			wrong += k != STOLEN && out.gpr[k] != (!exact && k == reg && reg != 15 ? 0x5a5a : 0x1000 + k);
		spilled += !exact && reg != 15;
	}
	expect_long(wrong, 0);
	expect(spilled > 0);
	for (u32 i = f->rec; i < f->rec + f->nrec; i++) {
		const struct rec *r = &cache.rec[i];

		while (insns + 1 < ARRAY_SIZE(at) && at[insns] < (u64)r->guest)
			insns++;
		expect_long(r->guest, at[insns]);
		counted |= r->d_insns < 0; /* from there on the whole block is counted */
		expect_long(r->d_insns, counted ? (s64)insns - (s64)ARRAY_SIZE(at) : (s64)insns);
	}
	expect(counted);

	/* Left in the middle: all before is counted, nothing else. */
	for (u32 i = f->rec; i < f->rec + f->nrec; i++) {
		const struct rec *r = &cache.rec[i];
		u64 greg[23];

		cpu_clear_bank(cpu);
		if (r->d_insns < 0)
			cpu_bank(cpu)->blocks[cpu_row(0)][ARRAY_SIZE(at) - 1] = 1;
		host_context(greg, f->host + r->host);
		dbt_leave(cpu, greg);
		for (insns = 0; at[insns] < (u64)r->guest; insns++)
			;
		expect_long(cpu_read_cell(cpu_bank(cpu), CELL_INSTRUCTIONS), insns);
		expect_long(cpu->rip, CODE + at[insns]);
		expect(greg[word_of[STOLEN]] == (u64)cpu + CPU_BASE && !cache_contains(greg[16]));
	}
	cpu_clear_bank(cpu);
}

/* What a lookup that finds nothing goes on with, and what is not written yet, are no guest instruction's. */
static void test_places_of_branches(void)
{
	const u64 at[] = {code_host(cache.miss), code_host(cache.hot), code_host(cache.cold)};
	struct cpu out;
	u64 greg[23];

	for (u32 i = 0; i < ARRAY_SIZE(at); i++) {
		cpu->rip = CODE;
		host_context(greg, at[i]);
		expect_long(dbt_locate(cpu, greg, &out), DBT_AT_BRANCH);
		dbt_leave(cpu, greg);
		expect(cpu->rip == CODE && greg[16] == at[i]);
	}
}

/* ---- running ---- */

static void test_runs(void)
{
	static const u8 code[] = {
		0xb9, 0xe8, 0x03, 0, 0, /* 0: mov $1000, %ecx */
		0x45, 0x31, 0xdb,	/* 5: xor %r11d, %r11d */
		0x49, 0x01, 0xcb,	/* 8: add %rcx, %r11 */
		0xff, 0xc9,		/* 11: dec %ecx */
		0x75, 0xf9,		/* 13: jne 8 */
		0xe8, 0x02, 0, 0, 0,	/* 15: call 22 */
		SYSCALL,		/* 20 */
		0x4c, 0x89, 0xd8,	/* 22: mov %r11, %rax */
		0xc3,			/* 25: ret */
	};
	static const u32 wants[] = {0, CPU_WANT_BLOCKS, CPU_WANT_BLOCKS | CPU_WANT_KINDS | CPU_WANT_CYCLES,
				    CPU_WANT_BLOCKS | CPU_WANT_CYCLES,
				    CPU_WANT_BLOCKS | CPU_WANT_KINDS | CPU_WANT_TAKEN,
				    CPU_WANT_BLOCKS | CPU_WANT_BRANCHES | CPU_WANT_LIMITS,
				    CPU_WANT_BLOCKS | CPU_WANT_LIMITS};
	u64 left[CELL_NR] = {1ul << 40}, cycles = 0;
	struct dbt_fault fault;

	for (u32 i = 0; i < ARRAY_SIZE(wants); i++) {
		guest_code(code, sizeof(code));
		cpu_clear_bank(cpu);
		guest_at(CODE, wants[i]);
		if (wants[i] & CPU_WANT_LIMITS)
			cpu_set_limits(cpu, 1u << CELL_INSTRUCTIONS, false, left);
		expect_long(dbt_run(cpu, &fault), DBT_SYSCALL);
		expect_long(cpu_get_gpr(cpu, RAX), 500500);
		expect_long(cpu->rip, CODE + 22);
		expect_long(cpu_get_gpr(cpu, RSP), (u64)(guest_stack + STACK_SIZE - 256));
		expect_long(cpu_read_cell(cpu_bank(cpu), CELL_INSTRUCTIONS), wants[i] ? 2 + 3000 + 1 + 2 + 1 : 0);
		/* Nobody asks for branches in what the last one counts. */
		if (i < ARRAY_SIZE(wants) - 1)
			expect_long(cpu_read_cell(cpu_bank(cpu), CELL_BRANCHES), wants[i] ? 1002 : 0);
		expect_long(cpu_read_cell(cpu_bank(cpu), CELL_TAKEN), wants[i] & CPU_WANT_TAKEN ? 1001 : 0);
		expect_long(cpu_read_cell(cpu_bank(cpu), CELL_COND), wants[i] & CPU_WANT_KINDS ? 1000 : 0);
		if (!(wants[i] & CPU_WANT_CYCLES))
			continue;
		expect(cpu_read_cell(cpu_bank(cpu), CELL_CYCLES) > 1000);
		if (cycles)
			expect_long(cpu_read_cell(cpu_bank(cpu), CELL_CYCLES), cycles);
		cycles = cpu_read_cell(cpu_bank(cpu), CELL_CYCLES);
	}
	left[CELL_INSTRUCTIONS] = 2000; /* the 2000th instruction, and no other */
	guest_at(CODE, CPU_WANT_BLOCKS | CPU_WANT_LIMITS);
	cpu_clear_bank(cpu);
	cpu_bank(cpu)->want = CPU_WANT_BLOCKS | CPU_WANT_LIMITS;
	cpu_set_limits(cpu, 1u << CELL_INSTRUCTIONS, false, left);
	for (u32 stops = 0; dbt_run(cpu, &fault) == DBT_LIMIT && stops < 100 && !cpu_limit_reached(cpu); stops++)
		expect_long(dbt_step(cpu, &fault), DBT_STEPPED);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_INSTRUCTIONS), 2000);
	expect_long(cpu->rip, CODE + 8 + 3 * ((2000 - 2) % 3 > 0) + 2 * ((2000 - 2) % 3 > 1));
}

/* Runs the code at CODE with ecx, counting that; its last instruction is a syscall. */
static void run_with(u64 ecx, u32 want)
{
	struct dbt_fault fault;

	cpu_clear_bank(cpu);
	guest_at(CODE, want);
	cpu_set_gpr(cpu, RCX, ecx);
	expect_long(dbt_run(cpu, &fault), DBT_SYSCALL);
}

static void expect_counts(u64 rip, u64 insns, u64 branches)
{
	expect_long(cpu->rip, CODE + rip);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_INSTRUCTIONS), insns);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_BRANCHES), branches);
	if (!(cpu->variant & CPU_WANT_TAKEN))
		return;
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_COND), branches);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_TAKEN), 1);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_SYSCALLS), 1);
}

/*
 * A block behind a branch far ahead is counted before it, and taken back where the branch is taken: in the cold part,
 * or in front of what was translated for it.
 */
static void test_spans(u32 want)
{
	static const u8 code[] = {
		0x31, 0xc0,			/* 0: xor %eax, %eax */
		0x83, 0xf9, 0x00,		/* 2: cmp $0, %ecx */
		0x0f, 0x87, 0xf5, 0, 0, 0,	/* 5: ja 256 */
		0x74, 0x02,			/* 11: je 15 */
		0xff, 0xc0,			/* 13: inc %eax */
		0xff, 0xc0,			/* 15: inc %eax */
		SYSCALL,			/* 17 */
	};
	static const u8 other[] = {0x83, 0xc0, 0x05, SYSCALL}; /* 256: add $5, %eax */
	const struct exit *ahead;
	const struct frag *f;

	guest_code(code, sizeof(code));
	memcpy((void *)(CODE + 256), other, sizeof(other));
	f = frag_of(guest_entry(CODE, want));
	ahead = &cache.exit[f->exit];
	expect(ahead->kind == EXIT_AHEAD && ahead[1].kind == EXIT_BRANCH && ahead[1].target == CODE + 256);
	expect(leads_to(ahead) == ahead->stub && leads_to(&ahead[1]) == ahead[1].stub);
	run_with(0, want);
	expect_counts(19, 6, 2);
	for (u32 i = 0; i < 3; i++) {
		run_with(1, want);
		expect_counts(261, 5, 1);
		expect(ahead[1].linked && leads_to(ahead) + 4 <= cache.entry[ahead[1].linked].host);
		expect(leads_to(ahead) >= cache.entry[ahead[1].linked].host - 8);
	}
	dbt_invalidate(CODE + 256, CODE + 257);
	expect(!ahead[1].linked && leads_to(ahead) == ahead->stub);
	run_with(1, want);
	expect_counts(261, 5, 1);
	run_with(0, want);
	expect_counts(19, 6, 2);
}

/* Mixes come into being while the thread is in a call of execve, which fails, and afterwards. */
static void test_new_mixes(void)
{
	/* 0: mov (%rsp), %rax; 5 nops; syscall. 64: mov (%rsp), %rax twice; 6 nops; syscall. 128: 3 times, 7 */
	static const u8 load[] = {0x48, 0x8b, 0x04, 0x24}, end[] = {SYSCALL};
	const u32 want = CPU_WANT_BLOCKS | CPU_WANT_KINDS;
	struct dbt_fault fault;
	u8 code[192];

	memset(code, 0x90, sizeof(code));
	for (u32 i = 0; i < 3; i++) {
		for (u32 k = 0; k <= i; k++)
			memcpy(&code[64 * i + 4 * k], load, sizeof(load));
		memcpy(&code[64 * i + 4 * (i + 1) + 5 + i], end, sizeof(end));
	}
	guest_code(code, sizeof(code));
	cpu_clear_bank(cpu);
	guest_at(CODE, want);
	expect_long(dbt_run(cpu, &fault), DBT_SYSCALL);
	guest_executes = true;
	expect(guest_entry(CODE + 64, want));
	guest_executes = false;
	cpu->rip = CODE + 128;
	expect(run_find(cpu, 0, false, &fault));
	dbt_outside(cpu);
	/* Another member may write there: who makes code, with the lock, has the bank know them again. */
	cpu_bank(cpu)->mixes = 0;
	cpu->rip = CODE + 132;
	expect(run_find(cpu, 0, false, &fault));
	dbt_outside(cpu);
	for (u32 i = 1; i < 3; i++) {
		cpu->rip = CODE + 64 * i;
		expect_long(dbt_run(cpu, &fault), DBT_SYSCALL);
	}
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_LOADS), 6);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_SYSCALLS), 3);
	expect_long(cpu_read_cell(cpu_bank(cpu), CELL_INSTRUCTIONS), 6 + 18 + 3);
}

/* Where the jump behind a branch that is not taken is aligned, nobody is at the branch's target. */
static void test_aligned_spans(void)
{
	static const u8 code[] = {0x83, 0xf9, 0x00, 0x0f, 0x87, 0xf7, 0, 0, 0, 0x74, 0x02, 0xff, 0xc0, 0xc3};
	u8 moved[sizeof(code) + 16];
	u32 wrong = 0;

	for (u32 by = 0; by < 16; by++) { /* so many nops; cmp $0, %ecx; ja 256; je; inc; ret */
		const struct frag *f;

		memset(moved, 0x90, by);
		memcpy(moved + by, code, sizeof(code));
		guest_code(moved, by + sizeof(code));
		f = frag_of(guest_entry(CODE, CPU_WANT_BLOCKS));
		expect_long(cache.exit[f->exit].kind, EXIT_AHEAD);
		for (u32 host = f->host; host < f->host_end; host++) {
			struct cpu out;
			u64 greg[23];

			host_context(greg, host);
			dbt_locate(cpu, greg, &out);
			wrong += out.rip >= CODE + 256;
		}
	}
	expect_long(wrong, 0);
}

int main(void)
{
	if (!guest_begin()) {
		printf("the cache's addresses are taken\n");
		return 77;
	}
	test_entries();
	test_stops();
	test_faults();
	test_used_tables();
	test_links();
	test_landings();
	test_places();
	test_places_of_branches();
	test_runs();
	test_spans(CPU_WANT_BLOCKS);
	test_spans(CPU_WANT_BLOCKS | CPU_WANT_KINDS | CPU_WANT_TAKEN);
	test_aligned_spans();
	test_new_mixes();
	return unit_result();
}
