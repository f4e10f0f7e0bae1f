/* See kernel_writes.h. */
#include "os/kernel_writes.h"
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "dbt/dbt.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define POINTED_MAX 256u  /* bytes of what a pointer without a length leads to; of epoll's events not all */
#define VECTORS_MAX 1024u /* UIO_MAXIOV; also of messages */

static void unprotect_vectors(gva at, u64 n)
{
	struct iovec v;

	for (u64 i = 0; i < MIN(n, VECTORS_MAX) && !guest_read(&v, at + i * sizeof(v), sizeof(v)); i++)
		dbt_unprotect((gva)v.iov_base, v.iov_len);
}

static void unprotect_messages(gva at, u64 n, u64 size)
{
	struct msghdr m;

	for (u64 i = 0; i < MIN(n, VECTORS_MAX) && !guest_read(&m, at + i * size, sizeof(m)); i++) {
		dbt_unprotect(at + i * size, size);
		dbt_unprotect((gva)m.msg_name, m.msg_namelen);
		dbt_unprotect((gva)m.msg_control, m.msg_controllen);
		unprotect_vectors((gva)m.msg_iov, m.msg_iovlen);
	}
}

void kernel_writes_prepare(const struct thread *t, const u64 *args, u32 pointers, const char *formats)
{
	if (likely(!dbt_has_protected()))
		return;
	for (u32 left = pointers; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);

		dbt_unprotect(args[i], formats[i] == 'B' ? args[i + 1] : POINTED_MAX);
	}
	switch (t->nr) {
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
		unprotect_vectors(args[1], args[2]);
		break;
	case __NR_process_vm_writev: /* if it is another process's, these are pages of no interest */
		unprotect_vectors(args[3], args[4]);
		break;
	case __NR_recvmsg:
		unprotect_messages(args[1], 1, sizeof(struct msghdr));
		break;
	case __NR_recvmmsg:
		unprotect_messages(args[1], args[2], sizeof(struct mmsghdr));
		break;
	}
}

void kernel_writes_prepare_end(const struct thread *t)
{
	struct robust_list_head head;
	gva at = 0, entry;
	size_t len;

	if (likely(!dbt_has_protected()))
		return;
	dbt_unprotect(t->clear_tid, sizeof(u32));
	if (sys3(__NR_get_robust_list, 0, &at, &len) || !at || guest_read(&head, at, sizeof(head)))
		return;
	if (head.list_op_pending)
		dbt_unprotect(((gva)head.list_op_pending & ~1ul) + (u64)head.futex_offset, sizeof(u32));
	entry = (gva)head.list.next & ~1ul;
	for (u32 i = 0; i < ROBUST_LIST_LIMIT && entry != at; i++) {
		dbt_unprotect(entry + (u64)head.futex_offset, sizeof(u32));
		if (guest_read(&entry, entry, sizeof(entry)))
			break;
		entry &= ~1ul; /* priority inheritance */
	}
}
