/*
 * The translator as os/ sees it.
 *
 * dbt_run() executes guest code of one thread from the code cache until something happens that the translator cannot
 * do alone, and says what. On return the whole integer state is in *cpu and precise: every instruction before cpu->rip
 * is done and counted, none after it. Several threads of a process may be in dbt_run() at once; each passes its own
 * cpu.
 */
#ifndef DBT_DBT_H
#define DBT_DBT_H

#include "abi/types.h"
#include "cpu/cpu.h"
#include "rt/layout.h"

enum dbt_stop {
	DBT_SYSCALL,   /* cpu->rip is after a syscall instruction, which is counted */
	DBT_INTERRUPT, /* cpu->pending was set: the caller looks why. Nothing was executed for it. */
	DBT_FAULT,     /* an instruction at cpu->rip cannot be fetched or decoded: see dbt_fault */
	DBT_SYSENTER,  /* int 0x80 or sysenter at cpu->rip (not executed) */
	DBT_RDPMC,     /* rdpmc at cpu->rip (not executed); the caller emulates it and steps over */
	DBT_CPUID,     /* cpuid at cpu->rip (not executed); likewise */
	DBT_XGETBV,    /* xgetbv at cpu->rip (not executed); likewise */
	DBT_RDTSC,     /* with dbt_options.stop_at_tsc: rdtsc or rdtscp at cpu->rip (not executed); likewise */
	DBT_EMULATE,   /* a far return, or a popf that would set the trap flag, at cpu->rip (not executed); likewise */
	DBT_LIMIT,     /* CPU_WANT_LIMITS: the instruction at cpu->rip reaches a limit, or may (not executed) */
	DBT_BREAK,     /* CPU_WANT_BREAK: the instruction at cpu->rip has a breakpoint (not executed) */
	DBT_RSEQ_CS,   /* the instruction at cpu->rip is in a critical section (not executed); see dbt_in_rseq_cs() */
	/*
	 * the instruction at cpu->rip may access (not executed) watched memory, with CPU_WANT_WATCH; pages that are not
	 * in cpu_touched(), with CPU_WANT_TOUCH
	 */
	DBT_WATCHED,
	/* CPU_WANT_LIMITS: a limit that is to be approached is near; or from dbt_approach(): not from here */
	DBT_NEAR,
	DBT_STEPPED,   /* dbt_step(): one instruction was executed and counted; dbt_approach(): at least one */
};

/* Why DBT_FAULT: as the kernel would report it in siginfo. */
struct dbt_fault {
	int signo; /* SIGSEGV or SIGILL or SIGBUS */
	int code;  /* si_code */
	u64 addr;  /* si_addr */
};

struct insn;

int dbt_init(void);			      /* reserves the cache and tables; 0 or -errno */
void dbt_cpu_init(struct cpu *cpu);	      /* before the first dbt_run() of a thread */
enum dbt_stop dbt_run(struct cpu *cpu, struct dbt_fault *fault);

/*
 * Executes one instruction at cpu->rip (a rep string instruction with all its iterations), whatever limits, breakpoints
 * and watched memory there are. DBT_STEPPED, or what dbt_run() returns; DBT_SYSCALL is after a syscall instruction,
 * which is counted. After DBT_INTERRUPT the instruction was executed if cpu->rip or a count moved.
 */
enum dbt_stop dbt_step(struct cpu *cpu, struct dbt_fault *fault);

/*
 * After DBT_NEAR: executes and counts some instructions from cpu->rip on, by a copy of their code (dbt/piece.h). One is
 * executed in any case; others only while the cell whose limit is approached has advanced by no more than `most` then.
 * No limits are looked at. DBT_STEPPED, or what dbt_run() returns; DBT_NEAR: nothing was done, it cannot be done here.
 */
enum dbt_stop dbt_approach(struct cpu *cpu, u64 most, struct dbt_fault *fault);

/* After dbt_step(): that was no branch, or one that was not taken. */
static inline bool dbt_in_block(const struct cpu *cpu)
{
	return cpu->limits.fine;
}

/*
 * After DBT_LIMIT, DBT_NEAR and DBT_STEPPED, if none of dbt_run(), dbt_step() and dbt_approach() is called next: the
 * thread is out of the code cache.
 */
void dbt_outside(struct cpu *cpu);

/*
 * An execution breakpoint at addr comes or goes, for all threads with CPU_WANT_BREAK. Any number may be set; with
 * thousands, DBT_BREAK may be said of addresses that have none.
 */
void dbt_break_set(gva addr, bool on);
/* None is set any more: in the child of a fork, whose breakpoints are not its parent's. */
void dbt_break_clear(void);

/*
 * Critical sections of restartable sequences (dbt/rseq_cs.h): whether the instruction at pc is in one that is known;
 * and the guest's descriptor of one that begins there, 0: none does, with the place of the instruction that has stored
 * its address, 0: that is not known. dbt_step() executes such an instruction only if *cpu->guard.word +
 * cpu->guard.minus is 0 and stays so, and sets cpu->guard.aborted and returns DBT_INTERRUPT if not.
 * dbt_guard() sets these: the word's address, what it is to hold, and the kernel's descriptor that it names, which is
 * the caller's but for start_ip and post_commit_offset; NULL: the instruction is executed in any case.
 */
extern u32 dbt_rseq_cs_known; /* how many */
bool dbt_find_rseq_cs(gva pc);
static inline bool dbt_in_rseq_cs(gva pc)
{
	return unlikely(__atomic_load_n(&dbt_rseq_cs_known, __ATOMIC_RELAXED)) && dbt_find_rseq_cs(pc);
}
gva dbt_rseq_cs_begins(gva pc, gva *set_at);

/*
 * A thread registers with that signature, so critical sections are to be known whose abort handlers have it in front.
 * Returns the address of the host's abort handler with the same signature, 0: there cannot be one.
 */
u64 dbt_rseq_cs_handler(u32 sig);

/*
 * As dbt_step(), of several instructions: they are executed all or none. DBT_NEAR: none was, events want to see each
 * instruction. After a fault in one of them it is not said which.
 */
enum dbt_stop dbt_rseq_cs(struct cpu *cpu, struct dbt_fault *fault);

static inline void dbt_guard(struct cpu *cpu, gva word, u64 value, struct rseq_cs *range)
{
	cpu->guard.word = word;
	cpu->guard.minus = -value;
	cpu->guard.range = range;
}

/* The kernel lets user mode read segment bases (AT_HWCAP2): checks of watched data through fs and gs are then quick. */
void dbt_use_fsgsbase(bool yes);

/*
 * In words: the block that the thread is in, or was before it left translated code. For the person who debugs: without
 * a lock. As rt_append().
 */
size_t dbt_describe(const struct cpu *cpu, char *buf, size_t size);

/*
 * From now on, until a fork, memory for translations is touched before it is used. Only that is own work then
 * (dbt_host_own_work()), and not each look for a block. False: nothing changes, since an image of this program is used,
 * or reserve_in_steps, or the code is in shared memory. Before the first dbt_run().
 */
bool dbt_touch_ahead(void);

/* dbt_host_notify() is called once, before code for that address is made. Before the first dbt_run(). */
void dbt_notify_before(u64 pc);

/*
 * Around a clone without CLONE_VM: before_fork waits until no thread is translating, after_fork (in the parent and in
 * the child) lets them go on. The child has its own copy of the cache from then on, or an empty one
 * (dbt/code_memory.h).
 */
void dbt_before_fork(void);
void dbt_after_fork(bool child);

/*
 * The guest's code at [start, end) changed, went away or became writable: forget what was translated from it.
 * Any thread, any time outside the cache. Threads that are inside an affected block leave it at its end.
 */
void dbt_invalidate(gva start, gva end);

/*
 * The addresses, below 2 GiB, of each of the code cache's two halves; and another place for one, in multiples of 2 MiB,
 * DBT_HALF_MIN to DBT_HALF_FULL long, where nothing is. Any thread, any time outside the cache. 0; -EAGAIN: somebody is
 * still inside, but will leave it soon; or another -errno: the half is where it was.
 */
#define DBT_HALF_FULL (LAYOUT_CACHE_SIZE / 2)
#define DBT_HALF_MIN (DBT_HALF_FULL / 8)
#define DBT_HALF_ALIGN 0x200000ul
#define DBT_HALF_TABLES 0x800000ul /* the first part of a half, which is not executable */
void dbt_half_place(u32 half, gva *start, gva *end);
u32 dbt_half_in_use(void);
int dbt_move_half(u32 half, gva start, u64 size);

enum dbt_where {
	DBT_AT_RUNTIME,	 /* not in the cache: in C code or in the way in or out; cpu->pending is enough */
	DBT_AT_BOUNDARY, /* between two guest instructions */
	DBT_AT_INSIDE,	 /* inside the host code of one guest instruction */
	DBT_AT_BRANCH,	 /* on a branch's way from one guest instruction to the next, in landings and stubs */
};

/*
 * For the host's signal handlers: where a machine context is, given as gregs of ucontext (GREG_* of cpu/regs.h). For
 * DBT_AT_BOUNDARY and DBT_AT_INSIDE fills in *out the guest's registers as they are at (before) the guest instruction
 * at out->rip; INSIDE is precise for a fault of that instruction's own access, which is the only time that it may be
 * used so. Nothing on the way of a branch has faults. The cells' corrections (instructions that a block has counted too
 * many or too few at this point) are applied to cpu by dbt_leave(), not here.
 */
enum dbt_where dbt_locate(struct cpu *cpu, const u64 *greg, struct cpu *out);

/*
 * Makes the host context leave the cache: saves the located guest state into cpu, corrects the cells and changes the
 * host context so that returning from the handler makes dbt_run() return DBT_INTERRUPT with that state.
 */
void dbt_leave(struct cpu *cpu, u64 *greg);

/* The guest's instruction that host code at that address was made from; what is no translated code stays as it is. */
u64 dbt_guest_pc(const struct cpu *cpu, u64 host);

/*
 * A write fault at guest address addr while in the cache or in the runtime: if pcl itself write-protected the page
 * because of translated code, invalidates, makes it writable and returns true (the access can be done again).
 */
bool dbt_write_fault(gva addr);
/* The host address is in a fragment that is not forgotten, so that it may be executed on. */
bool dbt_is_alive(u64 host);

/*
 * The calling thread has dbt_lock, whose last holder died at any instruction. All code is forgotten: the cache's tables
 * are filled from their start on, and what is complete is reached by one store. So it can be left as when a half is
 * full.
 */
void dbt_mend(void);

/* A page of the guest's is protected from writing, or was. */
bool dbt_has_protected(void);
/*
 * Makes what is protected in [addr, addr + len) writable, and forgets its code: the first MiB, for a system call that
 * would get EFAULT. Takes no lock where nothing is protected.
 */
void dbt_unprotect(gva addr, u64 len);

/* Undoes the protection of all pages (and forgets their code), for a system call that got EFAULT; false: none was. */
bool dbt_unprotect_all(void);

/* The cells advance by what one instruction counts that was not executed by translated code, but by the caller. */
void dbt_count_emulated(struct cpu *cpu, const struct insn *in);

/* os/ tells how guest memory is mapped, so that the translator knows what it may read and must protect. */
struct dbt_mapping {
	gva start, end;
	int prot;    /* PROT_* as the guest asked */
	bool shared; /* MAP_SHARED: may change behind our back */
	bool sealed; /* its protection cannot be changed */
	bool own;    /* MAP_SHARED, but only this address space's mappings, which are aliases, can change it */
};
/*
 * Implemented by os/: finds the mapping around addr. Returns 0 or -14 (EFAULT). Takes no lock: the dbt lock may be
 * held.
 */
int dbt_host_mapping(gva addr, struct dbt_mapping *out);
/* Implemented by os/: the signal that reading the byte there raises; .signo 0: none. */
struct dbt_fault dbt_host_read_fault(gva addr);
/* Implemented by os/: the next address above `after` that is the same memory as addr, if that is .own; 0: none. */
gva dbt_host_alias(gva addr, gva after);
/* Implemented by os/: the kernel writes to the page without being asked, for a thread. The dbt lock may be held. */
bool dbt_host_kernel_writes(gva page);
/*
 * Implemented by os/: whether test() is true for the cpu of any thread of this process. The dbt lock may be held.
 */
bool dbt_host_any_cpu(bool (*test)(struct cpu *cpu, void *arg), void *arg);
/*
 * Implemented by os/: fn(arg), which opens descriptors and closes them, so that no other user of the guest's table sees
 * them.
 */
long dbt_host_apart(long (*fn)(void *arg), void *arg);
/*
 * Implemented by os/: the calling thread begins or ends work of the translator's own. They nest. Its page faults are
 * not the guest's.
 */
void dbt_host_own_work(bool begins);
/* Implemented by os/: see dbt_notify_before(). The thread is in no code. */
void dbt_host_notify(void);

#endif
