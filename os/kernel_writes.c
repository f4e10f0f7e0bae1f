/* See kernel_writes.h. */
#include "os/kernel_writes.h"
#include <sys/socket.h>
#include <sys/uio.h>
#include "dbt/dbt.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define POINTED_MAX 256u  /* bytes of what a pointer without a length leads to; of epoll's events not all */
#define VECTORS_MAX 1024u /* UIO_MAXIOV; also of messages */

static void vectors_come(gva at, u64 n)
{
	struct iovec v;

	for (u64 i = 0; i < MIN(n, VECTORS_MAX) && !guest_read(&v, at + i * sizeof(v), sizeof(v)); i++)
		dbt_write_comes((gva)v.iov_base, v.iov_len);
}

static void messages_come(gva at, u64 n, u64 size)
{
	struct msghdr m;

	for (u64 i = 0; i < MIN(n, VECTORS_MAX) && !guest_read(&m, at + i * size, sizeof(m)); i++) {
		dbt_write_comes(at + i * size, size);
		dbt_write_comes((gva)m.msg_name, m.msg_namelen);
		dbt_write_comes((gva)m.msg_control, m.msg_controllen);
		vectors_come((gva)m.msg_iov, m.msg_iovlen);
	}
}

void kernel_writes_come(const struct thread *t, const u64 *args, u32 pointers, const char *formats)
{
	if (likely(!dbt_protects()))
		return;
	for (u32 left = pointers; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);

		dbt_write_comes(args[i], formats[i] == 'B' ? args[i + 1] : POINTED_MAX);
	}
	switch (t->nr) {
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
		vectors_come(args[1], args[2]);
		break;
	case __NR_recvmsg:
		messages_come(args[1], 1, sizeof(struct msghdr));
		break;
	case __NR_recvmmsg:
		messages_come(args[1], args[2], sizeof(struct mmsghdr));
		break;
	}
}
