/*
 * Access to guest memory that may fault; see guest.h.
 *
 * All accesses are in one piece of assembly, so that the fault handler knows them by their address.
 */
#include "abi/types.h"
#include "rt/guest.h"
#include "rt/string.h"

#define EFAULT_RESULT (-14)
#define ENAMETOOLONG_RESULT (-36)
#define STR_CHUNK 64

int guest_read(void *dst, gva src, size_t n)
{
	return guest_copy(dst, (const void *)src, n);
}

int guest_write(gva dst, const void *src, size_t n)
{
	return guest_copy((void *)dst, src, n);
}

/* In pieces that never cross a page, so that a string may end just before an unmapped one. */
long guest_read_str(char *dst, gva src, size_t size)
{
	size_t done = 0;

	if (!size)
		return ENAMETOOLONG_RESULT;
	while (done < size) {
		size_t to_page_end = PAGE_SIZE - ((src + done) & (PAGE_SIZE - 1));
		size_t n = MIN(MIN(size - done, to_page_end), STR_CHUNK);
		char *end;

		if (guest_read(dst + done, src + done, n))
			return EFAULT_RESULT;
		end = memchr(dst + done, 0, n);
		if (end)
			return end - dst;
		done += n;
	}
	dst[size - 1] = 0;
	return ENAMETOOLONG_RESULT;
}

u64 guest_fault_fixup(u64 pc)
{
	if (pc >= (u64)guest_copy_begin && pc < (u64)guest_copy_end)
		return (u64)guest_copy_fault;
	return 0;
}
