/*
 * Signal frames on the guest's stack, byte for byte as Linux lays them out for 64-bit programs.
 *
 *   struct rt_sigframe { pretcode, struct ucontext, siginfo }, below it in memory order:
 *   [frame, 16-byte aligned minus 8][vector state in XSAVE's standard format, 64-byte aligned][red zone, 128 bytes]
 *
 * Sources: arch/x86/kernel/signal.c and fpu/signal.c for order and alignment, <asm/sigcontext.h> for the layout. The
 * vector state is in the hardware while the runtime works, so it goes straight from there through the thread's buffer.
 */
#include <asm/errno.h>
#include "dbt/calls.h"
#include "dbt/dbt.h"
#include "os/session/process.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define RED_ZONE 128

/* uc_flags: UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS. */
#define UC_FLAGS 7

/* eflags that sigreturn takes from the frame (FIX_EFLAGS), and those that a handler starts without. */
#define EFLAGS_RESTORED	       0x50dd5u
#define EFLAGS_SHOWN	       (EFLAGS_RESTORED | 0x204000u) /* in a frame: ID and NT, too */
#define EFLAGS_HANDLER_CLEARED 0x10500u /* RF, DF, TF */

/* User code and stack selectors: cs in bits 0..15, ss in bits 48..63. */
#define CSGSFS 0x002b000000000033ul

#define MAGIC1		    0x46505853u
#define MAGIC2		    0x46505845u
#define MAGIC2_SIZE	    4
#define LEGACY_SIZE	    512
#define HEADER_SIZE	    64
#define MXCSR_DEFAULT	    0x1f80u
#define FEATURES_LEGACY	    3ul /* x87 and SSE */
#define FEATURE_PKRU	    (1ul << 9)
#define FEATURE_TILEDATA    (1ul << 18)
#define ARCH_GET_XCOMP_PERM 0x1022

/* The vector state's legacy area (FXSAVE format) with the words that software may use, and XSAVE's header. */
struct xsave_area {
	u16 fcw, fsw, ftw, fop;
	u64 fip, fdp; /* the last x87 instruction, and its operand */
	u32 mxcsr, mxcsr_mask;
	u8 registers[384];
	u8 reserved[48];
	struct {
		u32 magic1, extended_size;
		u64 xfeatures;
		u32 xstate_size;
		u32 padding[7];
	} sw;
	u64 xstate_bv, xcomp_bv;
	u64 header_zero; /* what follows it is not looked at */
	u8 header_reserved[40];
};
_Static_assert(sizeof(struct xsave_area) == LEGACY_SIZE + HEADER_SIZE, "FXSAVE area and XSAVE header");

struct rt_sigframe {
	u64 pretcode;
	struct kucontext uc;
	u8 info[128];
};
_Static_assert(sizeof(struct rt_sigframe) == 440, "Linux's struct rt_sigframe");

void vector_save(void *area, u64 mask);
void vector_load(const void *area, u64 mask);

static struct {
	u64 features; /* XCR0's, as far as frames hold them */
	u32 size;     /* of the XSAVE area without MAGIC2 */
	u32 pkru;     /* as the kernel sets it at exec */
	u32 mxcsr_mask;
} vector;

static void cpuid(u32 leaf, u32 sub, u32 r[4])
{
	__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(sub));
}

static struct xsave_area *vector_buffer(struct thread *t)
{
	return (struct xsave_area *)(thread_area(t) + THREAD_XSAVE);
}

/*
 * Of the features in use. Of all that are enabled the processor knows it: a virtual machine takes microseconds for each
 * cpuid.
 */
static u32 area_size(u64 enabled)
{
	u32 r[4], size = LEGACY_SIZE + HEADER_SIZE;

	if (vector.features == enabled) {
		cpuid(0xd, 0, r);
		return MAX(size, r[1]);
	}
	for (u32 i = 2; i < 63; i++) {
		if (!(vector.features & (1ul << i)))
			continue;
		cpuid(0xd, i, r);
		size = MAX(size, r[0] + r[1]);
	}
	return size;
}

int sigframe_init(void)
{
	struct session_config *c = &the_process.config;
	u32 r[4], lo, hi;
	u64 permitted = 0, enabled;

	if (!c->vector_size)
		cpuid(1, 0, r);
	if (!c->vector_size && !(r[2] & (1u << 27))) /* OSXSAVE */
		return -ENODEV;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	vector.features = enabled = lo | (u64)hi << 32;
	if (vector.features & FEATURE_TILEDATA) {
		sys2(__NR_arch_prctl, ARCH_GET_XCOMP_PERM, &permitted);
		vector.features &= ~FEATURE_TILEDATA | permitted;
	}
	if (!c->vector_size || c->vector_features != vector.features) {
		c->vector_size = area_size(enabled);
		c->vector_features = vector.features;
	}
	vector.size = c->vector_size;
	if (vector.size + MAGIC2_SIZE > THREAD_XSAVE_SIZE)
		return -ENODEV;
	if (vector.features & FEATURE_PKRU)
		__asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(vector.pkru), "=d"(hi) : "c"(0));
	return 0;
}

/* The state that a handler starts with, as after exec. */
static void vector_reset(struct xsave_area *x)
{
	memset(x, 0, sizeof(*x));
	x->mxcsr = MXCSR_DEFAULT;
	vector_load(x, vector.features);
	if (vector.features & FEATURE_PKRU)
		__asm__ volatile(".byte 0x0f, 0x01, 0xef" ::"a"(vector.pkru), "c"(0), "d"(0));
}

static int vector_push(struct thread *t, gva at)
{
	struct xsave_area *x = vector_buffer(t);

	memset(x->reserved, 0, sizeof(x->reserved));
	memset(&x->xstate_bv, 0, HEADER_SIZE);
	vector_save(x, vector.features);
	x->xstate_bv |= FEATURES_LEGACY;
	x->fip = dbt_guest_pc(t->cpu, x->fip);
	memset(&x->sw, 0, sizeof(x->sw));
	x->sw.magic1 = MAGIC1;
	x->sw.extended_size = vector.size + MAGIC2_SIZE;
	x->sw.xfeatures = vector.features;
	x->sw.xstate_size = vector.size;
	*(u32 *)((u8 *)x + vector.size) = MAGIC2;
	return guest_write(at, x, vector.size + MAGIC2_SIZE);
}

/* Whether the frame's software words describe an XSAVE area; otherwise it holds FXSAVE's part only. */
static bool has_xstate(const struct xsave_area *x, gva at)
{
	u32 magic2;

	if (x->sw.magic1 != MAGIC1 || x->sw.xstate_size < sizeof(*x) || x->sw.xstate_size > vector.size ||
	    x->sw.xstate_size > x->sw.extended_size)
		return false;
	return guest_read(&magic2, at + x->sw.xstate_size, sizeof(magic2)) == 0 && magic2 == MAGIC2;
}

/* What XRSTOR would fault on. */
static bool is_loadable(const struct xsave_area *x)
{
	return !(x->mxcsr & ~vector.mxcsr_mask) && !(x->xstate_bv & ~vector.features) && !x->xcomp_bv &&
	       !x->header_zero;
}

static int vector_pop(struct thread *t, gva at)
{
	struct xsave_area *x = vector_buffer(t);

	if (!at) {
		vector_reset(x);
		return 0;
	}
	if (!vector.mxcsr_mask) {
		vector_save(x, FEATURES_LEGACY);
		vector.mxcsr_mask = x->mxcsr_mask ? x->mxcsr_mask : 0xffbf;
	}
	if (guest_read(x, at, sizeof(*x)))
		return -EFAULT;
	if (has_xstate(x, at)) {
		if ((at & 63) || guest_read(x, at, x->sw.xstate_size))
			return -EFAULT;
		if (!is_loadable(x))
			return -EFAULT;
		x->xstate_bv &= x->sw.xfeatures;
	} else {
		memset(&x->xstate_bv, 0, HEADER_SIZE);
		x->xstate_bv = FEATURES_LEGACY;
		if ((at & 15) || !is_loadable(x))
			return -EFAULT;
	}
	vector_load(x, vector.features);
	return 0;
}

static void context_save(const struct thread *t, u64 *g)
{
	static const u8 order[] = {R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		g[i] = cpu_get_gpr(t->cpu, order[i]);
	g[GREG_RIP] = t->cpu->rip;
	g[GREG_EFL] = (t->cpu->rflags & EFLAGS_SHOWN) | 0x202;
	g[GREG_CSGSFS] = CSGSFS;
	g[GREG_ERR] = t->trap_err;
	g[GREG_TRAPNO] = t->trap_no;
	g[GREG_OLDMASK] = t->sigmask;
	g[GREG_CR2] = t->trap_cr2;
}

static void context_restore(struct thread *t, const u64 *g)
{
	static const u8 order[] = {R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		cpu_set_gpr(t->cpu, order[i], g[i]);
	t->cpu->rip = g[GREG_RIP];
	t->cpu->rflags = (t->cpu->rflags & ~(u64)EFLAGS_RESTORED) | (g[GREG_EFL] & EFLAGS_RESTORED) | 0x202;
}

/* Where the frame's parts go: the kernel's get_sigframe(). -EFAULT: the alternate stack overflows. */
static int place_frame(const struct thread *t, const struct ksigaction *act, gva *frame, gva *vec)
{
	u64 sp = cpu_get_gpr(t->cpu, RSP);
	bool nested = sigaltstack_state(t, sp) == SS_ONSTACK_, entering = false;

	sp -= RED_ZONE;
	if ((act->flags & SA_ONSTACK) && sigaltstack_state(t, sp) == 0) {
		sp = t->altstack.sp + t->altstack.size;
		entering = true;
	}
	*vec = ALIGN_DOWN(sp - vector.size - MAGIC2_SIZE, 64);
	*frame = ALIGN_DOWN(*vec - sizeof(struct rt_sigframe), 16) - 8;
	return (nested || entering) && !sigaltstack_has(t, *frame) ? -EFAULT : 0;
}

int sigframe_push(struct thread *t, int signo, const struct ksigaction *act, const struct taken_signal *sig)
{
	struct rt_sigframe f;
	gva frame, vec;

	if (place_frame(t, act, &frame, &vec) || !(act->flags & SA_RESTORER_) || vector_push(t, vec))
		return -EFAULT;
	memset(&f, 0, sizeof(f));
	f.pretcode = act->restorer;
	f.uc.flags = UC_FLAGS;
	f.uc.stack.sp = t->altstack.sp;
	f.uc.stack.flags = (s32)t->altstack.flags;
	f.uc.stack.size = t->altstack.size;
	context_save(t, f.uc.greg);
	f.uc.fpstate = vec;
	f.uc.sigmask = t->sigmask;
	memcpy(f.info, sig->info, sizeof(f.info));
	if (guest_write(frame, &f, act->flags & SA_SIGINFO ? sizeof(f) : offsetof(struct rt_sigframe, info)))
		return -EFAULT;

	cpu_set_gpr(t->cpu, RDI, signo);
	cpu_set_gpr(t->cpu, RAX, 0);
	cpu_set_gpr(t->cpu, RSI, frame + offsetof(struct rt_sigframe, info));
	cpu_set_gpr(t->cpu, RDX, frame + offsetof(struct rt_sigframe, uc));
	cpu_set_gpr(t->cpu, RSP, frame);
	t->cpu->rip = act->handler;
	t->cpu->rflags &= ~(u64)EFLAGS_HANDLER_CLEARED;
	calls_note_signal(t->cpu, f.pretcode, frame, frame + offsetof(struct rt_sigframe, uc.greg[GREG_RSP]));
	vector_reset(vector_buffer(t));
	return 0;
}

int sigframe_pop(struct thread *t)
{
	gva frame = cpu_get_gpr(t->cpu, RSP) - 8;
	struct rt_sigframe f;
	long ret;

	if (guest_read(&f, frame, offsetof(struct rt_sigframe, info)))
		return -EFAULT;
	ret = thread_set_mask(t, f.uc.sigmask);
	if (ret)
		return (int)ret;
	context_restore(t, f.uc.greg);
	if (vector_pop(t, f.uc.fpstate))
		return -EFAULT;
	/* Linux quirk: what sigaltstack() would refuse is ignored here. */
	sigaltstack_set(t, f.uc.stack.sp, f.uc.stack.size, (u32)f.uc.stack.flags, cpu_get_gpr(t->cpu, RSP));
	return 0;
}
