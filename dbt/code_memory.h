/*
 * The memory that translated code is in: where it runs, and where the translator writes it.
 *
 * Where the host lets memory be writable and executable, that is the same place, in one private mapping. Where it does
 * not (PR_SET_MDWE, systemd's MemoryDenyWriteExecute=, SELinux without execmem), there are two mappings of the same
 * shared memory: one below 2 GiB that runs, one LAYOUT_CACHE_WRITE - LAYOUT_CACHE above it that is written. Rules:
 *
 *  1. A u8 * into the cache is for writing, a u32 or u64 address of the cache is for running. code_at() and code_host()
 *     convert. The places are a multiple of 4 GiB apart, so that 32-bit displacements between pointers of both kinds
 *     are right.
 *  2. Shared memory is not copied by a fork: the child renews it before it runs or writes code (dbt_after_fork()).
 *  3. A thread that wrote code calls code_written() before it runs that: a processor need not notice at once what is
 *     written at another address than it runs at.
 */
#ifndef DBT_CODE_MEMORY_H
#define DBT_CODE_MEMORY_H

#include "abi/types.h"
#include "rt/layout.h"

/* From where code runs to where it is written; 0: one mapping. */
extern u64 code_distance;

/*
 * Maps [start, end), below 2 GiB. `two`: two mappings even where one will do; what the first call finds is so for all.
 * What is behind `ready` is for reserves. 0 or -errno.
 */
int code_memory_map(u64 start, u64 end, u64 ready, bool two);
void code_memory_unmap(u64 start, u64 end);

/* Of a reserve there. */
int code_memory_prot(void);

/* In the child of a fork, where there are two mappings: memory of its own instead, empty. 0 or -errno. */
int code_memory_renew(u64 start, u64 end);

/* Bytes that are private and writable memory when the guest begins, in an image that has one mapping. */
extern u64 code_memory_private;
/* So many of them are mapped shared here; 0: this image has one mapping. */
u64 code_memory_shared(void);

static inline u8 *code_at(u64 host)
{
	return (u8 *)(uintptr_t)(host + code_distance);
}

static inline u32 code_host(const u8 *p)
{
	return (u32)(uintptr_t)p;
}

void code_memory_serialize(void);

static inline void code_written(void)
{
	if (code_distance)
		code_memory_serialize();
}

#endif
