/*
 * See dump.h. All is told from the tables, after the fragment is done: it is what the runtime itself will find there.
 */
#include "dbt/dump.h"

#include "dbt/translate.h"
#include "isa/insn.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/log.h"

#define LINE 256
#define BYTES_A_LINE 16u

static const char *const kinds[] = {
	[ISA_PLAIN] = "plain", [ISA_JCC] = "jcc",	 [ISA_JMP] = "jmp",
	[ISA_CALL] = "call",   [ISA_LOOP] = "loop",	 [ISA_JMP_IND] = "jmp *",
	[ISA_RET] = "ret",     [ISA_CALL_IND] = "call *", [ISA_SYSCALL] = "syscall",
};

static const char *const exits[] = {
	[EXIT_BRANCH] = "branch",
	[EXIT_SYSCALL] = "syscall",
	[EXIT_SYSENTER] = "sysenter",
	[EXIT_RDPMC] = "rdpmc",
	[EXIT_CPUID] = "cpuid",
	[EXIT_XGETBV] = "xgetbv",
	[EXIT_RDTSC] = "rdtsc",
	[EXIT_POLL] = "poll",
	[EXIT_LIMIT] = "limit",
	[EXIT_BREAK] = "breakpoint",
	[EXIT_RSEQ_CS] = "critical section",
	[EXIT_WATCHED] = "watched",
	[EXIT_AHEAD] = "out of what is counted ahead",
	[EXIT_STALE] = "stale",
};

static const char *const registers[] = {REG_NAMES};

static void write_line(char *line, size_t len)
{
	line[len++] = '\n';
	log_write(line, len);
}

static size_t put_bytes(char *line, size_t at, const u8 *bytes, u32 n)
{
	for (u32 i = 0; i < n; i++)
		at = rt_append(line, LINE - 1, at, "%02x ", bytes[i]);
	return at;
}

static size_t put_flags(char *line, size_t at, const char *what, u32 flags)
{
	static const struct {
		u32 flag;
		char name;
	} names[] = {{ISA_OF, 'O'}, {ISA_SF, 'S'}, {ISA_ZF, 'Z'}, {ISA_AF, 'A'}, {ISA_PF, 'P'}, {ISA_CF, 'C'}};

	if (!(flags & ISA_STATUS))
		return at;
	at = rt_append(line, LINE - 1, at, ", %s ", what);
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			at = rt_append(line, LINE - 1, at, "%c", names[i].name);
	return at;
}

static u64 guest_pc(const struct frag *f, const struct rec *r)
{
	return f->pc + (u64)(s64)r->guest;
}

static const char *kind_of(const struct insn *in)
{
	return in->kind < ARRAY_SIZE(kinds) && kinds[in->kind] ? kinds[in->kind] : "special";
}

static void dump_guest(const struct frag *f)
{
	for (const struct rec *r = &cache.rec[f->rec]; r < &cache.rec[f->rec + f->nrec]; r++) {
		u8 bytes[ISA_MAX_LEN];
		char line[LINE];
		struct insn in;
		size_t at;

		/* One that ends at the end of what is mapped is not shown: a debugging aid reads no shorter. */
		if (!r->first || guest_read(bytes, guest_pc(f, r), sizeof(bytes)))
			continue;
		if (isa_decode(bytes, sizeof(bytes), &in) <= 0)
			continue;
		at = put_bytes(line, rt_append(line, LINE - 1, 0, "g %#lx  ", guest_pc(f, r)), bytes, in.len);
		at = rt_append(line, LINE - 1, at, " %s", kind_of(&in));
		if (in.kind == ISA_JCC || in.kind == ISA_LOOP || in.kind == ISA_JMP || in.kind == ISA_CALL)
			at = rt_append(line, LINE - 1, at, " %#lx", isa_target(&in, guest_pc(f, r)));
		at = put_flags(line, at, "reads", in.fl_reads);
		write_line(line, put_flags(line, at, "kills", in.fl_kills));
	}
}

static void dump_entries(const struct frag *f)
{
	for (u32 i = f->entry; i < f->entry + f->nentry; i++) {
		const struct entry *e = &cache.entry[i];
		char line[LINE];

		write_line(line, rt_append(line, LINE - 1, 0, "d %#lx  entry %u at %#x, distance %u, landing %#x",
					   e->pc, i, e->host, e->distance, e->landing));
	}
}

static void dump_records(const struct frag *f)
{
	s32 before = 0;

	for (const struct rec *r = &cache.rec[f->rec]; r < &cache.rec[f->rec + f->nrec]; r++) {
		char line[LINE];
		size_t at;

		if (r->d_insns < before && r->d_insns < 0) {
			at = rt_append(line, LINE - 1, 0, "d %#lx  counted at %#x: ", guest_pc(f, r),
				       f->host + r->host);
			at = rt_append(line, LINE - 1, at, "%d instructions and %d branches ahead", -r->d_insns,
				       -r->d_branches);
			write_line(line, at);
		}
		before = r->d_insns;
		if (r->spills == SPILLS_NONE)
			continue;
		at = rt_append(line, LINE - 1, 0, "d %#lx  spilled:", guest_pc(f, r));
		if ((r->spills & 15) != NO_SPILL)
			at = rt_append(line, LINE - 1, at, " %s", registers[r->spills & 15]);
		if (r->spills >> 4 != NO_SPILL)
			at = rt_append(line, LINE - 1, at, " %s", registers[r->spills >> 4]);
		write_line(line, at);
	}
}

static void dump_host(const struct frag *f)
{
	for (u32 i = f->rec; i < f->rec + f->nrec; i++) {
		bool last = i + 1 == f->rec + f->nrec;
		u32 host = f->host + cache.rec[i].host, end = last ? f->host_end : f->host + cache.rec[i + 1].host;

		for (u32 n; host < end; host += n) {
			char line[LINE];
			size_t at = rt_append(line, LINE - 1, 0, "h %#x  for %#lx: ", host, guest_pc(f, &cache.rec[i]));

			n = MIN(end - host, BYTES_A_LINE);
			write_line(line, put_bytes(line, at, code_at(host), n));
		}
	}
}

static void dump_exits(const struct frag *f)
{
	for (u32 i = f->exit; i < f->exit + f->nexit; i++) {
		const struct exit *x = &cache.exit[i];
		char line[LINE];
		size_t at = rt_append(line, LINE - 1, 0, "x exit %u: %s, guest %#lx", i, exits[x->kind], x->target);

		if (x->patch)
			at = rt_append(line, LINE - 1, at, ", jump at %#x", x->patch);
		if (x->kind == EXIT_BRANCH)
			at = rt_append(line, LINE - 1, at, ", distance %u", x->distance);
		if (x->linked)
			at = rt_append(line, LINE - 1, at, ", to entry %u at %#x", x->linked,
				       cache.entry[x->linked].host);
		else if (x->stub)
			at = rt_append(line, LINE - 1, at, ", to its stub at %#x", x->stub);
		write_line(line, at);
	}
	if (f->lookup) {
		char line[LINE];

		write_line(line, rt_append(line, LINE - 1, 0, "x lookup at %#x", f->lookup));
	}
}

static bool is_wanted(const struct frag *f)
{
	if (!dbt_options.dump_at)
		return true;
	for (u32 i = f->rec; i < f->rec + f->nrec; i++)
		if (guest_pc(f, &cache.rec[i]) == dbt_options.dump_at)
			return true;
	return false;
}

void dump_frag(u32 frag)
{
	const struct frag *f = &cache.frag[frag];
	char line[LINE];
	size_t at;

	if (!is_wanted(f))
		return;
	at = rt_append(line, LINE - 1, 0, "fragment %u: guest %#lx, host %#x to %#x, variant %#x", frag, f->pc, f->host,
		       f->host_end, cache.variant[f->variant].want);
	write_line(line, rt_append(line, LINE - 1, at, "%s%s", f->stays ? ", cannot be copied" : "",
				   f->fixes ? ", has operands relative to rip" : ""));
	if (dbt_options.dump & DUMP_GUEST)
		dump_guest(f);
	if (dbt_options.dump & DUMP_DECIDED) {
		dump_entries(f);
		dump_records(f);
	}
	if (dbt_options.dump & DUMP_HOST)
		dump_host(f);
	if (dbt_options.dump & DUMP_EXITS)
		dump_exits(f);
}
