/*
 * The guest's memory map: what the guest has mapped where, with the protection that it asked for.
 *
 * One map per address space: threads and vfork children share it, fork copies it with the rest of the memory. It holds
 * the guest's mappings and, as VMA_HOST, the few things of the host in the guest's part of the address space that the
 * guest must neither see nor replace, the code cache among them. pcl's own region is not in it: see vma_reserved().
 *
 * Rules:
 *  1. Under vma_lock(), in this order: the host's memory changes, the map changes, dbt_invalidate(). So what is
 *     translated in between from the old mapping is forgotten again, and nobody can have been given the same place
 *     before that.
 *  2. Readers that need one entry use vma_lookup(), which takes no lock and may run in signal handlers. They retry
 *     while a change is written, so nothing may fault between the two halves of a change: no guest memory is touched
 *     there.
 *  3. Host protection is guest protection without PROT_EXEC, and with PROT_READ if the guest may only execute:
 *     translated code is fetched by the runtime's loads, never by the processor from guest pages. The translator may
 *     have taken PROT_WRITE away from executable pages.
 *  4. Addresses and lengths are multiples of PAGE_SIZE.
 *
 * Lock: vma_lock() is RANK_MM. Functions named *_locked need it.
 */
#ifndef OS_VMA_H
#define OS_VMA_H

#include "abi/types.h"

enum vma_kind {
	VMA_PLAIN,
	VMA_HEAP,  /* brk area */
	VMA_STACK, /* the first thread's stack */
	VMA_VDSO,
	VMA_VVAR,
	VMA_SHM,   /* System V shared memory, one segment */
	VMA_EVENT, /* an event's ring buffer */
	VMA_HOST,  /* not the guest's */
};

#define VMA_SHARED    1u /* MAP_SHARED: may change behind our back */
#define VMA_FILE      2u /* offset and id are valid */
#define VMA_SEALED    8u /* mseal: the protection of its pages cannot be changed */
#define VMA_GROWSDOWN 4u /* the kernel extends it down to start; host memory may begin later */

struct vma {
	gva start, end;
	u32 prot;   /* PROT_* as the guest asked */
	u32 flags;  /* VMA_* */
	u16 kind;   /* enum vma_kind */
	u16 memory; /* see os/mm/own_memory.h; 0: others may write to it. At `offset` of it */
	u64 offset; /* file offset of start, in bytes */
	u64 id;	    /* of files: vma_new_id_locked() of the call that mapped it: only its pieces join */
};

/* Where a mapping without a fixed address goes. */
enum vma_place {
	/* Beside the code cache, in Linux's order: the program below, libraries downwards from the end. */
	PLACE_PROGRAM,
	PLACE_NEAR,
	PLACE_TOP,   /* from the top of the mmap area downwards */
	PLACE_32BIT, /* MAP_32BIT: below 2 GiB */
};

struct thread;

int vma_init(void); /* once per address space: an empty map; 0 or -errno */

/* The seeds of address-space randomisation, in bytes to move by; the map of a new program has none. */
void vma_set_random(u64 near, u64 top);
/* The mmap area ends below the stack's reserve; `top` is at most LAYOUT_GUEST_MMAP_TOP. */
void vma_set_top(gva top);

void vma_lock(void);
void vma_unlock(void);
/*
 * Another process has this memory from now on, or has not any more. As long as there is one, who changes the map keeps
 * it as it was: he may die, and others go on.
 */
void vma_sharers_changed(const struct thread *own);
/* The lock's last holder died at any instruction: of a change that he was writing nothing is done, or all. */
void vma_mend(void);

/* Around a clone without CLONE_VM, so that the child does not inherit a half-written map. */
void vma_before_fork(void);
void vma_after_fork(void);

/* True if [start, end) touches pcl's own region. */
bool vma_reserved(gva start, gva end);
/*
 * Cuts [*at, end) at reserved memory and VMA_HOST: *at moves to the next piece that is the guest's, and its end is
 * returned; 0: none. For calls on ranges that treat pcl's memory as holes:
 *
 *	for (at = start; (stop = vma_piece_locked(&at, end)); at = stop)
 */
gva vma_piece_locked(gva *at, gva end);

/* The mapping around addr: 0 or -EFAULT. Without lock, any context; VMA_HOST is no mapping. */
int vma_lookup(gva addr, struct vma *out);

/*
 * The next address above `after` where the memory is mapped, too, that vma, which has a number of own memory, has at
 * addr; 0: there is none. As vma_lookup().
 */
gva vma_alias(const struct vma *vma, gva addr, gva after);

/* The first mapping that ends above addr, NULL if there is none. Valid until the map changes. */
const struct vma *vma_next_locked(gva addr);
bool vma_free_locked(gva start, gva end);    /* nothing there, VMA_HOST and reserved memory included */
bool vma_covered_locked(gva start, gva end); /* the guest has mapped all of it */
bool vma_exec_locked(gva start, gva end);    /* code may have been translated from it, or from the same memory */
bool vma_host_locked(gva start, gva end);    /* VMA_HOST in it */

/* A number that no mapping has had. */
u64 vma_new_id_locked(void);

/* True if a change can be made for certain: each adds two entries at most. */
bool vma_room_locked(void);
/* Replaces whatever the map has in [vma->start, vma->end). */
void vma_insert_locked(const struct vma *vma);
void vma_remove_locked(gva start, gva end);
/* The parts of [start, end) that are mapped get that protection. */
void vma_protect_locked(gva start, gva end, u32 prot);
/* They are sealed. */
void vma_seal_locked(gva start, gva end);

/* A free place of len bytes, aligned to `align` (a power of two, at least PAGE_SIZE); 0 if there is none. */
gva vma_find_free_locked(enum vma_place place, u64 len, u64 align);
/* The highest one in [low, high). */
gva vma_find_between_locked(gva low, gva high, u64 len, u64 align);

/* Host protection for guest protection: rule 3. */
int vma_host_prot(int prot);

#endif
