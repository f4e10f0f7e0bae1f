/*
 * From one poll to the next there are at most CPU_POLL_UNITS instructions (dbt/polls.h), whichever way the code goes,
 * but for the rest of the first one's block and CPU_POLL_FRONT of the second one's: of random code, whose exits are all
 * linked, every way from each poll and each entry is looked at by its records, which know nothing of distances.
 */
#include "dbt/polls.h"
#include "tests/unit/dbt/guest.h"

#define SPARSE (CPU_WANT_BLOCKS | CPU_WANT_LIMITS | CPU_WANT_SPARSE)
#define PROGRAMS 40
#define BYTES 12000u /* of one */
/* From a poll on there may be the rest of its block, which it has counted; of a loop all copies. */
#define LOOP 64
#define FIRST (CPU_POLL_UNITS + CPU_POLL_FRONT)
#define BETWEEN (CPU_BLOCK_INSNS + FIRST)

static u8 code[BYTES + 64];
static u32 start[BYTES], nstart; /* where instructions begin */

static u32 dice(u32 n)
{
	return (u32)random() % n;
}

static u32 put(u32 at, const u8 *bytes, u32 n)
{
	memcpy(code + at, bytes, n);
	return at + n;
}

/* One instruction; a branch's displacement is filled in by aim(). */
static u32 put_insn(u32 at, u32 branches)
{
	static const struct {
		u8 len, bytes[7];
	} plain[] = {
		{3, {0x48, 0x01, 0xd8}},
		{2, {0xff, 0xc1}},
		{3, {0x48, 0x89, 0xc2}},
		{1, {0x90}},
		{4, {0x4c, 0x8d, 0x1c, 0x18}},
		{3, {0x4d, 0x01, 0xda}},
		{3, {0x0f, 0x94, 0xc1}},
		{3, {0x48, 0x11, 0xd8}},
		{4, {0x48, 0x0f, 0xaf, 0xc3}},
		{7, {0x4c, 0x8b, 0x1d, 0, 0, 0, 0}},
		{1, {0x9c}},
		{2, {0x85, 0xc0}},
	};
	u32 k = dice(branches);

	if (k < 3)
		return put(at, (u8[]){0x0f, (u8)(0x84 + dice(2)), 0, 0, 0, 0}, 6); /* je, jne */
	if (k == 3)
		return put(at, (u8[]){0xe9, 0, 0, 0, 0}, 5);
	if (k == 4)
		return put(at, (u8[]){0xe8, 0, 0, 0, 0}, 5);
	if (k == 5)
		return put(at, (u8[]){0xc3}, 1);
	if (k == 6)
		return put(at, (u8[]){0xff, 0xe0}, 2); /* jmp *%rax */
	if (k == 7)
		return put(at, (u8[]){0xe2, 0}, 2); /* loop */
	k = dice(ARRAY_SIZE(plain));
	return put(at, plain[k].bytes, plain[k].len);
}

static void aim(u32 i)
{
	u8 *insn = code + start[i];
	u32 len = insn[0] == 0x0f && insn[1] >= 0x84 && insn[1] <= 0x85 ? 6
		  : insn[0] == 0xe9 || insn[0] == 0xe8			? 5
									: 0;
	/* Near, as a rule, and often the block's own beginning. */
	u32 to = dice(3) ? start[i > 40 ? i - dice(40) : dice(i + 1)] : start[dice(nstart)];
	s32 rel;

	if (!len)
		return;
	rel = (s32)to - (s32)(start[i] + len);
	memcpy(insn + len - 4, &rel, 4);
}

/* With one branch in so many instructions: some programs have none for long. */
static void make_program(void)
{
	u32 branches = 10 + dice(4) * dice(120), at = 0;

	for (nstart = 0; at < BYTES; nstart++) {
		start[nstart] = at;
		at = put_insn(at, branches);
	}
	for (u32 i = 0; i < nstart; i++)
		aim(i);
	put(at, (u8[]){0x0f, 0x05}, 2);
	guest_code(code, at + 2);
}

/* The poll that the record belongs to is the exit's; 0: none. */
static bool polls_at(const struct frag *f, u32 rec)
{
	for (u32 i = f->exit; i < f->exit + f->nexit; i++)
		if (cache.exit[i].kind == EXIT_POLL && cache.exit[i].rec == rec)
			return true;
	return false;
}

static bool is_branch_at(u64 pc)
{
	const u8 *insn = code + (pc - CODE);

	return insn[0] == 0xe9 || insn[0] == 0xe8 || insn[0] == 0xc3 || insn[0] == 0xe2 ||
	       (insn[0] == 0xff && insn[1] == 0xe0) || (insn[0] == 0x0f && insn[1] >= 0x84 && insn[1] <= 0x85);
}

static u32 longest, wrong, checked, polls, fronts;

/*
 * From the entry on to the fragment's end: `insns` were passed since the last poll. What an exit says of its distance
 * is not less than what has been passed, but for the block in which the last poll was, with its copies.
 */
static void follow(const struct frag *f, const struct entry *e)
{
	u32 insns = e->distance, from = f->rec, exit = e->exit, most = FIRST, front = 0;
	bool behind_branch = false;

	while (cache.rec[from].host + f->host < e->host || from < e->rec)
		from++;
	for (u32 rec = from; rec < f->rec + f->nrec; rec++) {
		u32 end = rec + 1 < f->rec + f->nrec ? f->host + cache.rec[rec + 1].host : f->host_end;

		insns += cache.rec[rec].first;
		if (cache.rec[rec].first) {
			front = behind_branch ? 1 : front + 1;
			behind_branch = is_branch_at(f->pc + (u64)(s64)cache.rec[rec].guest);
		}
		if (polls_at(f, rec)) {
			insns = cache.rec[rec].first;
			most = BETWEEN;
			/* A record of the instruction behind it is in front of it, unless its fragment has none. */
			wrong += front && (front - 1) % CPU_BLOCK_INSNS > CPU_POLL_FRONT;
			fronts += front > 1;
			polls++;
		}
		wrong += insns > most;
		longest = MAX(longest, insns);
		for (; exit < f->exit + f->nexit; exit++) {
			const struct exit *x = &cache.exit[exit];

			/* A jump in the cold part belongs to the EXIT_AHEAD in front of it. */
			if (x->patch >= end && x->patch < f->host_end)
				break;
			if (x->kind != EXIT_BRANCH)
				continue;
			checked++;
			wrong += x->distance > POLL_MAX || insns > x->distance + LOOP;
			wrong += x->linked && cache.entry[x->linked].distance < x->distance;
			wrong += x->linked && cache.entry[x->linked].pc != x->target;
			wrong += leads_to(x) != (x->linked ? cache.entry[x->linked].host : x->stub);
		}
	}
}

/* Links what can be, which makes more code, in which there is more to link. */
static void link_all(void)
{
	struct dbt_fault fault;

	for (u32 i = 1; i < cache.nexit; i++) {
		const struct exit *x = &cache.exit[i];

		if (x->kind != EXIT_BRANCH || !x->patch || x->linked || cache.frag[x->frag].dead)
			continue;
		guest_at(x->target, SPARSE);
		run_find(cpu, i, false, &fault);
	}
}

static void test_program(void)
{
	struct dbt_fault fault;

	make_program();
	for (u32 i = 0; i < nstart; i += 1 + dice(30)) {
		guest_at(CODE + start[i], SPARSE);
		run_find(cpu, 0, dice(4) == 0, &fault);
	}
	link_all();
	for (u32 i = cache.first_frag; i < cache.nfrag; i++) {
		const struct frag *f = &cache.frag[i];

		for (u32 k = f->entry; !f->dead && k < f->entry + f->nentry; k++)
			follow(f, &cache.entry[k]);
	}
}

int main(void)
{
	u32 linked = 0;

	srandom(1);
	if (!guest_begin()) {
		printf("the cache's addresses are taken\n");
		return 77;
	}
	for (u32 i = 0; i < PROGRAMS; i++)
		test_program();
	for (u32 i = 1; i < cache.nexit; i++)
		linked += cache.exit[i].linked != 0;
	expect_long(wrong, 0);
	expect(longest > POLL_EVERY); /* it is not that there is a poll everywhere */
	expect(checked > 10000 && polls > 5000 && fronts > 100 && linked > 100);
	printf("%u exits, %u polls, at most %u instructions\n", checked, polls, longest);
	return unit_result();
}
