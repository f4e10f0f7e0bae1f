/*
 * Reading guest code: whether it may be executed, and its bytes. Pages that code is read from are registered, and
 * write-protected if the guest could write to them, before they are read: a later write is noticed.
 */
#ifndef DBT_GUEST_CODE_H
#define DBT_GUEST_CODE_H

#include "abi/types.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "isa/insn.h"

#define CODE_WINDOW 256u

struct guest_code {
	u64 start, end;		   /* what bytes holds */
	u64 map_start, map_end;	   /* executable guest memory known so far */
	bool map_writable, map_shared, map_sealed, map_own;
	u8 bytes[CODE_WINDOW];
	u64 pages[64];		   /* registered for this fragment */
	u32 npages;
	bool checked; /* one of the pages is */
};

/* Pages that are written so often beside their code are not protected any more, but checked. */
#define CHECK_AFTER_WRITES 64u

void guest_code_begin(struct guest_code *g);

/*
 * Decodes the instruction at pc, and points *bytes at it. Looks at the page behind pc's only if it goes on there.
 * Returns its length, 0 if it is no instruction, or -1 if not all of it may be executed: *fault says what that raises.
 */
int guest_code_insn(struct guest_code *g, u64 pc, struct insn *in, const u8 **bytes, struct dbt_fault *fault);

/* Files the fragment under the pages that were registered. */
void guest_code_commit(struct guest_code *g, u32 frag);

#endif
