/*
 * A guest thread's registers and counter bank: the only wire between the translator and the PMU.
 *
 * struct cpu is private to the thread's process, at the end of its thread's area (os/session/thread.h). Directly behind
 * it, where a page begins, lies struct bank: its pages are the session's shared memory, that of the thread's task slot.
 * What is in struct cpu steers the thread: nobody else can reach it. What is in struct bank others read, and any member
 * of the session may write: the thread takes nothing from there but counts and, checked, `want`.
 *
 * While its thread runs translated code, the stolen register holds the address CPU_BASE behind that of the structure,
 * in the bank, near the boundary between both; the other guest registers are in place and the guest's value of the
 * stolen one is in `stolen`; otherwise the others are in gpr, rip and rflags. Vector, x87 and segment state is always
 * in the hardware.
 *
 * Who writes: the owning thread only, except `want` (the PMU drivers, under the event lock) and `shown` (readers).
 * Anyone in the session may read cells at any time: they are 64-bit, aligned and written by single instructions, so
 * they are never torn, and after the owner's death they stay as they were.
 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "abi/types.h"
#include "cpu/regs.h"

/*
 * Free-running counters of what the thread executed in user mode. Advanced only while cpu_want_bit() of them is wanted.
 */
enum cell {
	CELL_INSTRUCTIONS, /* instructions completed; a rep string instruction is one */
	CELL_BRANCHES,	   /* all control transfers: jcc, loop, jmp, call, ret, direct or indirect, not syscall */
	CELL_CYCLES,	   /* quarter cycles of the first cycle model (model/) */
	CELL_COND,	   /* conditional branches */
	CELL_TAKEN,	   /* branches taken: unconditional ones and conditional ones that jumped */
	CELL_CALLS,	   /* calls, direct and indirect */
	CELL_RETURNS,	   /* ret */
	CELL_INDIRECT,	   /* indirect jumps and calls; not returns */
	CELL_LOADS,	   /* instructions that read data memory */
	CELL_STORES,	   /* instructions that write data memory */
	CELL_SYSCALLS,	   /* syscall instructions */
	CELL_NR,
};

/*
 * What translated code does besides running the guest: each combination in use is a variant of the code. First the
 * groups of cells that it advances.
 */
#define CPU_WANT_BLOCKS 1u /* CELL_INSTRUCTIONS and CELL_BRANCHES, by way of blocks[] */
/* Beside CPU_WANT_BLOCKS: an event counts CELL_BRANCHES. Else instructions are alone, and polls may count them. */
#define CPU_WANT_BRANCHES 128u
#define CPU_WANT_CYCLES 2u /* CELL_CYCLES */
#define CPU_WANT_KINDS 4u  /* all other cells, but CELL_TAKEN only with CPU_WANT_TAKEN */
#define CPU_WANT_TAKEN 0x8000u
/* Then where it stops: */
#define CPU_WANT_LIMITS 8u /* for samples: in front of limits, or far from them at polls; see cpu/bank.h */
#define CPU_WANT_WATCH 16u /* in front of instructions that access data in [watch_lo, watch_lo + watch_len) */
#define CPU_WANT_BREAK 32u /* in front of instructions with an execution breakpoint (dbt_break_set()) */
#define CPU_WANT_TOUCH 0x4000u /* as CPU_WANT_WATCH, for accesses to pages that are not in cpu_touched() */
/* What it keeps: */
#define CPU_WANT_CALLS 64u /* the call stack in calls[], by calls and returns */
/* and taken branches in lbr_from[] and lbr_to[], of these kinds: */
#define CPU_WANT_LBR_COND 256u
#define CPU_WANT_LBR_JMP 512u	 /* direct jumps */
#define CPU_WANT_LBR_CALL 1024u	 /* direct calls */
#define CPU_WANT_LBR_RET 2048u
#define CPU_WANT_LBR_IND_JMP 4096u
#define CPU_WANT_LBR_IND_CALL 8192u
#define CPU_WANT_LBR 0x3f00u
/* All of these that change the code. CPU_WANT_BRANCHES does not. */
#define CPU_WANT_BY_DRIVERS 0xff7fu
/* Chosen by cpu/ and dbt/ themselves. Near a limit (cpu/bank.h): */
#define CPU_WANT_COUNTDOWN 0x10000u	     /* it counts down to a limit of instructions */
#define CPU_WANT_COUNTDOWN_BRANCHES 0x20000u /* it counts down to a limit of branches */
#define CPU_WANT_EXPECT_TAKEN 0x40000u	     /* conditional branches count as taken until they are not */
#define CPU_WANT_NEAR 0x70000u
#define CPU_WANT_ONE 0x80000u /* one instruction, no limits: dbt_step() */
#define CPU_WANT_RSEQ_CS 0x800000u /* with CPU_WANT_ONE: several instructions of a critical section, dbt_rseq_cs() */
#define CPU_WANT_FINE 0x100000u /* each instruction is a block: to the end of the guest's own */
#define CPU_WANT_SPARSE 0x200000u /* limits are far away: only some blocks poll (dbt/polls.h) */
/* With CPU_WANT_SPARSE: the only cell that is counted, of instructions or of cycles, is counted in bank.poll[] */
#define CPU_WANT_IN_POLLS 0x1000000u
#define CPU_WANT_RARE 0x400000u	 /* limits are far apart: no CPU_WANT_FINE code is made for a limit's block */

static inline u32 cpu_want_bit(enum cell c)
{
	if (c == CELL_BRANCHES)
		return CPU_WANT_BLOCKS | CPU_WANT_BRANCHES;
	if (c == CELL_TAKEN)
		return CPU_WANT_KINDS | CPU_WANT_TAKEN;
	return c == CELL_INSTRUCTIONS ? CPU_WANT_BLOCKS : c == CELL_CYCLES ? CPU_WANT_CYCLES : CPU_WANT_KINDS;
}

/* Code of these CPU_WANT_* counts the cell. */
static inline bool cpu_wants(u32 want, enum cell c)
{
	return want & (c == CELL_TAKEN ? CPU_WANT_TAKEN : cpu_want_bit(c));
}

/* Code of these CPU_WANT_* stops in front of limits; sparse code does not, it polls. */
static inline bool cpu_stops_at_limits(u32 want)
{
	return (want & CPU_WANT_LIMITS) && !(want & CPU_WANT_SPARSE);
}

/* Code of these CPU_WANT_* counts spans by their mixes: kinds, or cycles where nothing has a limit. */
static inline bool cpu_counts_by_mix(u32 want)
{
	if ((want & CPU_WANT_ONE) || cpu_stops_at_limits(want))
		return false;
	return (want & CPU_WANT_KINDS) || ((want & CPU_WANT_CYCLES) && !(want & CPU_WANT_LIMITS));
}

#define CPU_SPAN_BRANCHES 3 /* in a span (dbt/plan.c), of no more than CPU_BLOCK_INSNS instructions, at most */
#define CPU_BLOCK_INSNS 32 /* instructions in a basic block, at most */

/*
 * Instructions and branches are counted together, by one increment per span, which is some basic blocks that follow
 * one another: blocks[b][n - 1] is how many spans of n instructions and b branches were run, less what was taken back;
 * the last row is that of no branches, which are rare. Their sum is weighted when it is read. So both counts cost no
 * more than one, and successive spans mostly increment different words. cell[CELL_INSTRUCTIONS] and cell[CELL_BRANCHES]
 * hold corrections for spans that were left inside a block, and single steps. Counts are read by cpu_read_cell().
 *
 * An increment waits for the one before it of the same word, 4 to 7 cycles on processors that do not rename memory. So
 * code that does not stop at limits adds to the words of cycles[] in turns; CELL_CYCLES is their sum and its cell.
 */
#define CPU_TURNS 4
/*
 * Code far from limits polls (cpu/bank.h), and where only one cell is counted it is counted by the same additions. Each
 * word of poll[] has two parts: above, minus how many units may still pass until a poll that adds to it stops; the 23
 * bits below, with their sign, what has been counted in it since that was moved to the cell. One addition is to both,
 * so it may count a span and poll. The words take turns, for the same reason. The lower part never overflows, since no
 * more than CPU_POLL_MOST units may pass before it is moved.
 */
#define CPU_POLL_WORDS 8
#define CPU_POLL_SHIFT 23
#define CPU_POLL_UNIT (1ul << CPU_POLL_SHIFT)
#define CPU_POLL_MOST (1u << 20)
/*
 * Code of which cpu_counts_by_mix() says so counts a span by its mix, which is how much of each cell it is: mixed[i] is
 * how many spans with mix[c][i] of each cell c were run, less what was taken back. A mix may have several numbers, of
 * which any counts, and a number may stand for nothing. So one increment counts everything; but cycles beside kinds
 * have one of their own, or there would be too many mixes. Which mix has which number the threads of a process agree on
 * (dbt/mixes.c). A conditional branch at the end of a span counts as taken in its mix; where it is not, the code behind
 * it adds to one of not_taken[] in turns. See cpu/mix.h.
 */
#define CPU_MIXES 16384u /* the last quarter is for parts of mixes; if all are taken, cells are added to */

#define CPU_WATCH_MAP 1024 /* a power of 2 */
#define CPU_LBR 256 /* entries; the position is a byte, so that it wraps by itself */
#define CPU_CALLS 65536 /* entries of the call stack, likewise with 16 bits */

/* A call, or the delivery of a signal (dbt/calls.h). */
struct cpu_call {
	u64 ret, sp; /* return address, and where it lies */
	u64 to : 56; /* what was called */
	u64 len : 8; /* of the call instruction in front of ret; 0: a signal */
};

/*
 * For CPU_WANT_TOUCH: pages that the thread need not stop at, because no page fault is to be expected there. A page's
 * place is its number modulo CPU_TOUCHED; what is there is its number without the lowest 3 bits, 0: none (nobody has
 * memory that low). Those of the second table may be written to, too.
 */
#define CPU_TOUCHED 8192u /* a power of 2 */
#define CPU_TOUCHED_TAG 3
struct cpu_touched {
	u32 tag[2][CPU_TOUCHED];
};

/*
 * Units from one poll to the next in CPU_WANT_SPARSE code, at most, and units of a block in code that counts cycles
 * (dbt/polls.h). An instruction is at least one unit.
 */
#define CPU_POLL_UNITS 80
_Static_assert(CPU_POLL_UNITS % CPU_POLL_WORDS == 0, "cpu_poll_outside() adds them in equal parts");
/* The distance is up to the block that polls. At most so many units of the block itself are in front of its poll. */
#define CPU_POLL_FRONT 8
#define CPU_BLOCK_UNITS 82
/* No instruction has a greater weight: see weight_of() in tools/gen_isa/describe.c. */
#define CPU_WEIGHT_MOST 102
_Static_assert(CPU_BLOCK_UNITS == CPU_BLOCK_INSNS - 1 + CPU_WEIGHT_MOST / 2, "it ends with such a one");

/* Units of an instruction with that weight (struct insn). In code that counts cycles a unit is at most two quarters. */
static inline u32 cpu_units(u32 want, u32 weight)
{
	return want & CPU_WANT_CYCLES && weight > 2 ? (weight + 1) / 2 : 1;
}

struct rseq_cs; /* linux/rseq.h */

/*
 * In shared memory, where a page begins. Written by the owner, but as it says; believed by nobody more than that it is
 * a number.
 */
struct bank {
	u64 poll[CPU_POLL_WORDS]; /* with those that follow: the counter bank */
	u64 cycles[CPU_TURNS];
	u64 blocks[CPU_SPAN_BRANCHES + 1][CPU_BLOCK_INSNS]; /* row b - 1 of b branches, the last of none */
	u64 cell[CELL_NR];
	u32 want;	   /* CPU_WANT_* that active events need; written by the PMU drivers */
	u32 inside;	   /* the owner is in translated code, or on its way in or out */
	u32 seq;	   /* odd while words and biases change */
	u32 mixes;	   /* so many mixes are known; written by threads of the owner's process (dbt/mixes.c) */
	u32 knows_mixes;   /* the owner has run code that counts by mixes: new ones are added */
	u32 poll_cell;	   /* which cell poll[] counts; the owner believes its limits.poll_cell */
	u64 not_taken[CPU_TURNS];
	u64 bias[CELL_NR];   /* by how much the words are more than the counts */
	u64 frozen[CELL_NR]; /* the counts, while seq is odd */
	u64 shown[CELL_NR];  /* what others read last; written by them (cpu_show_cell()) */
	u64 mixed[CPU_MIXES];
	s16 mix[CELL_NR][CPU_MIXES];
} __attribute__((aligned(64)));

#define CPU_BANK_SIZE ALIGN_UP(sizeof(struct bank), PAGE_SIZE)

/* Limits of the thread's cells, and what is done about them: cpu/bank.h. */
struct cpu_limits {
	u32 on;		   /* bit per cell with a limit */
	/* CPU_WANT_NEAR, CPU_WANT_SPARSE, CPU_WANT_IN_POLLS and CPU_WANT_RARE: what the limits need of the code */
	u32 want;
	u32 renew;	   /* the limits were set anew: cpu_renew_limits() is due */
	/* the same; besides, countdown[] is wrong: counts moved otherwise than by code that stops at limits */
	u32 stale;
	u32 rare;	   /* all were far away when they were set: no fine code is made for them, but steps */
	u32 far_apart;	   /* `rare`, or they stand for frequencies: a near one is approached (dbt_approach()) */
	u32 can_approach;  /* code of the present variant can be copied in pieces; set by dbt/ */
	u32 approaching;   /* the limit is near and is to be approached next */
	u32 given_up;	   /* cpu_approach_give_up(): the present limit is reached by counting down */
	u32 fine;	   /* the next code is to be of a CPU_WANT_FINE variant; also what dbt_in_block() says */
	u32 running_up;	   /* bit per cell whose word runs up to its limit */
	u32 poll_cell;	   /* the cell that the bank's poll[] counts */
	u64 part[CPU_POLL_WORDS]; /* units that each poll word was given when it was set last */
	u64 used[CPU_POLL_WORDS]; /* units that passed in it, the newer the more weight: see poll_words_share() */
	u32 summed;	   /* sum[] is what blocks[][] amount to now */
	u64 sum[2];	   /* instructions and branches */
	/* counts of instructions and of branches, less their limits in at[]; only while code counts down */
	s64 countdown[2];
	u64 at[CELL_NR];   /* counts at which the limits are reached; ~0: none */
	u64 asked;	   /* at[CELL_INSTRUCTIONS] as the events want it; at[] is nearer if the turn ends before */
	u64 turn;	   /* --pin=schedule: count of instructions at which the thread's turn ends, 0: none */
};

/* Where in translated code the thread is; good as long as the generation is the code cache's. */
struct cpu_here {
	u64 pc;
	u32 frag, rec;	   /* fragment and record; frag 0: not known */
	u32 exit;	   /* the first behind that, or an earlier one */
	u32 entry;	   /* it is this entry's; 0: of none */
	u32 generation;
};

/* The piece of a fragment that is being run (dbt/piece.h): a copy of so many bytes, up to record `end`. */
struct cpu_copy {
	u32 at, from;	   /* cache addresses of the copy and of the original; at 0: there is none */
	u32 len, end, part;
};

/*
 * In critical sections of restartable sequences (dbt/rseq_cs.h): the next instruction may be executed if *word + minus
 * is 0.
 */
struct cpu_guard {
	u64 word, minus;
	struct rseq_cs *range;
	u32 aborted;	   /* it was not */
};

/* Where the dispatcher has found code for pc; good as long as the generation is the code cache's. */
struct cpu_found {
	u64 pc;
	u32 want, generation, host;
};
#define CPU_FOUND 64 /* a power of 2 */

/* How the thread came to the instruction at rip: by an indirect branch (a return is one), or otherwise. */
enum cpu_arrived { CPU_ARRIVED, CPU_ARRIVED_INDIRECTLY, CPU_ARRIVED_DIRECTLY };

/* What every thread uses is at the end, in one page: each page that is written costs a fork two faults. */
struct cpu {
	u64 lbr_from[CPU_LBR], lbr_to[CPU_LBR]; /* taken branches, a ring */
	/* see watch_lo: by the 64 bytes that an access begins in, counted from there: 1 if it may */
	u8 watch_map[CPU_WATCH_MAP];

	u64 gpr[CPU_GPRS];		/* guest registers while in the runtime; the stolen one's place is not used */
	u64 rip;
	u64 rflags;
	u64 exit_id;			/* by which exit of which block the cache was left */
	u64 poll_back;			/* cache address at which code that was stopped by a poll goes on */
	u64 target;			/* guest address wanted by an indirect branch that missed the lookup */
	u64 rt_rsp;			/* the runtime's stack pointer to return to from translated code */
	u64 rt_fn[4];			/* addresses in the runtime that the cache jumps to (dbt/) */
	/* set by a signal handler of this thread: leave the cache at the next instruction boundary */
	u32 pending;
	u32 variant;			/* CPU_WANT_* of the code that it runs now */
	u32 epoch;			/* of the code cache that it is inside of, 0 outside (dbt/flush.c) */
	u32 generation;			/* of the code cache when it was entered last */
	u32 slot;			/* number of this cpu's task slot */
	u32 left_code;			/* by dbt_leave(), since it was entered: else nothing was executed */
	/* for statistics: steps and pieces since translated code ran on, stops by polls since the dispatcher ran */
	u32 steps, pieces, stops;
	/* enum cpu_arrived, at rip: known in front of a breakpoint, where a limit is near, and after a step */
	u32 arrived;

	struct cpu_limits limits;
	struct cpu_here here;
	struct cpu_copy copy;
	struct cpu_found found[CPU_FOUND];

	/* where an access of up to 64 bytes must begin to touch one of the thread's watchpoints */
	u64 watch_lo, watch_len;
	/* the exact call stack, a ring in the process's own memory; NULL until it is wanted */
	struct cpu_call *calls;
	u16 calls_pos;			/* the innermost call's place */
	u8 lbr_pos;			/* the next place in lbr_from and lbr_to to be written */
	u8 touching;			/* cpu_touched() has been written to */
	u64 touch_flags;		/* rax of a check with CPU_WANT_TOUCH, with the flags in it */
	struct cpu_guard guard;

	/*
	 * The last 32 bytes, and the first 224 of the bank behind them, are reached by translated code with 8-bit
	 * displacements. Padding puts these four words into one cache line, at the end of the structure.
	 */
	u64 padding[4] __attribute__((aligned(64)));
	u64 no_match;			/* a constant: see dbt/x86_64/ibl.c */
	/* the guest's value of the stolen register, always */
	u64 stolen;
	u64 spill[2];			/* scratch of one translated instruction or of one indirect branch */
} __attribute__((aligned(64)));

#define CPU_BASE ((s32)sizeof(struct cpu) + 96)
_Static_assert(offsetof(struct cpu, no_match) >= CPU_BASE - 128, "an 8-bit displacement");
_Static_assert(sizeof(struct cpu) - offsetof(struct cpu, gpr) <= PAGE_SIZE, "one page");
_Static_assert(offsetof(struct bank, mixed) <= PAGE_SIZE, "one page");

/* Where a field lies, from where the stolen register points to: for code generation. */
#define CPU_AT(field) ((s32)offsetof(struct cpu, field) - CPU_BASE)
#define BANK_AT(field) ((s32)(sizeof(struct cpu) + offsetof(struct bank, field)) - CPU_BASE)

/* The thread's own, as it sees it; others find it in the task's slot. */
static inline struct bank *cpu_bank(const struct cpu *cpu)
{
	return (struct bank *)(cpu + 1);
}

/* Private, on the pages behind the bank's; others of the process may remove entries. */
static inline struct cpu_touched *cpu_touched(const struct cpu *cpu)
{
	return (struct cpu_touched *)((u64)cpu_bank(cpu) + CPU_BANK_SIZE);
}

/* The thread need not stop at an access to the page with that number. */
static inline bool cpu_knows_page(const struct cpu *cpu, u64 page, bool write)
{
	const u32 *tag = &cpu_touched(cpu)->tag[write][page % CPU_TOUCHED];

	return __atomic_load_n(tag, __ATOMIC_RELAXED) == page >> CPU_TOUCHED_TAG;
}

/* Nor at the fetch of an instruction there, of at most max bytes. */
static inline bool cpu_knows_code(const struct cpu *cpu, u64 pc, u32 max)
{
	return cpu_knows_page(cpu, pc / PAGE_SIZE, false) && cpu_knows_page(cpu, (pc + max - 1) / PAGE_SIZE, false);
}

/* Where one of the tables of cpu_touched() is, for code generation. */
static inline s32 cpu_touched_at(bool write)
{
	return (s32)(sizeof(struct cpu) + CPU_BANK_SIZE + write * sizeof(u32) * CPU_TOUCHED) - CPU_BASE;
}

/* The row of blocks[][] for spans of so many branches. */
static inline u32 cpu_row(u32 branches)
{
	return branches ? branches - 1 : CPU_SPAN_BRANCHES;
}

/* Where spans of n instructions and that many branches are counted, for code generation. */
static inline s32 cpu_blocks_at(u32 branches, u32 n)
{
	return BANK_AT(blocks) + (s32)((cpu_row(branches) * CPU_BLOCK_INSNS + n - 1) * 8);
}

static inline u64 cpu_get_gpr(const struct cpu *cpu, unsigned reg)
{
	return reg == STOLEN ? cpu->stolen : cpu->gpr[reg];
}

static inline void cpu_set_gpr(struct cpu *cpu, unsigned reg, u64 value)
{
	if (reg == STOLEN)
		cpu->stolen = value;
	else
		cpu->gpr[reg] = value;
}

/* Where a poll word is, for code generation: polls and spans take the words in turns. */
static inline s32 cpu_poll_at(u32 turn)
{
	return BANK_AT(poll) + (s32)(8 * (turn % CPU_POLL_WORDS));
}

/* Where a cell is, for code generation. */
static inline s32 cpu_cell_at(enum cell c)
{
	return BANK_AT(cell) + 8 * (s32)c;
}

#endif
