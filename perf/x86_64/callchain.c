/* See callchain.h. */
#include "cpu/cpu.h"
#include "perf/callchain.h"
#include "rt/guest.h"
#include "rt/layout.h"

#define GUEST_END 0x800000000000ul

/* What a function that keeps a frame pointer has at rbp. */
struct frame {
	u64 next, ret;
};

static bool read_frame(u64 at, struct frame *out)
{
	if (at >= GUEST_END - sizeof(*out))
		return false;
	return guest_read(out, at, sizeof(*out)) == 0;
}

u32 callchain_frames(const struct snapshot_regs *regs, u64 *out, u32 room)
{
	u64 at = regs->gpr[RBP];
	struct frame frame;
	u32 n;

	for (n = 0; n < room && read_frame(at, &frame); n++) {
		out[n] = frame.ret;
		at = frame.next;
	}
	return n;
}

/* Page by page: what follows may not be mapped. */
u32 callchain_stack(const struct snapshot_regs *regs, void *out, u32 room)
{
	u64 sp = regs->gpr[RSP];
	u32 done = 0, n;

	while (done < room && sp + done < GUEST_END) {
		n = MIN(room - done, (u32)(PAGE_SIZE - (sp + done) % PAGE_SIZE));
		if (guest_read((u8 *)out + done, sp + done, n))
			break;
		done += n;
	}
	return done;
}
