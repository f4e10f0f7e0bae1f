/*
 * RLIMIT_AS and RLIMIT_DATA: the kernel counts pcl's sparse mappings against them, the guest must not feel that. Its
 * limits are passed on with what pcl has mapped added, and shown with it taken off again. The amount is the same in
 * every image of one build, so limits survive exec and fork in the kernel's hands.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include "dbt/code_memory.h"
#include "os/session/session.h"
#include "os/session/process.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/mm/sys_rlimit.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define STATM_FIELDS 6

/* Fields of /proc/self/statm, in pages: 0 is all mapped, 5 is private writable and stack. */
static bool read_statm(u64 *field)
{
	char text[128], *p = text;

	if (proc_read("self/statm", text, sizeof(text)) <= 0)
		return false;
	for (int i = 0; i < STATM_FIELDS; i++) {
		for (field[i] = 0; *p >= '0' && *p <= '9'; p++)
			field[i] = field[i] * 10 + (u64)(*p - '0');
		p += *p == ' ';
	}
	return true;
}

static u64 to_host(u64 limit, u64 more)
{
	return limit == RLIM_INFINITY || limit + more < limit ? RLIM_INFINITY : limit + more;
}

/*
 * The first image of a session: what the launcher has raised becomes the guest's limit. A hard limit that it could not
 * raise stays.
 */
static void put_in_force(u64 resource, struct session_limit *limit, u64 mine)
{
	struct rlimit now, new = {to_host(limit->cur, mine), to_host(limit->max, mine)};

	if (!limit->lifted)
		return;
	limit->lifted = false;
	if (!sys2(__NR_getrlimit, resource, &now))
		new.rlim_max = MIN(new.rlim_max, now.rlim_max);
	sys2(__NR_setrlimit, resource, &new);
}

void rlimit_note_own(u64 stack, u64 others)
{
	struct session_config *c = &the_process.config;
	u64 field[STATM_FIELDS];

	if (c->own_as || !read_statm(field))
		return;
	c->own_as = field[0] * PAGE_SIZE - stack - others;
	c->own_data = field[5] * PAGE_SIZE - stack + code_memory_shared();
	put_in_force(RLIMIT_AS, &c->limit_as, c->own_as);
	put_in_force(RLIMIT_DATA, &c->limit_data, c->own_data);
}

static u64 own(u64 resource)
{
	const struct session_config *c = &the_process.config;

	return resource == RLIMIT_AS ? c->own_as : resource == RLIMIT_DATA ? c->own_data : 0;
}

static u64 to_guest(u64 limit, u64 less)
{
	return limit == RLIM_INFINITY ? limit : limit > less ? limit - less : 0;
}

static long change(struct thread *t, s32 pid, u64 resource, gva new, gva old)
{
	struct rlimit lim, *in = (struct rlimit *)&t->scratch[0], *out = (struct rlimit *)&t->scratch[2];
	u64 mine = own(resource);
	long ret;

	if (new) {
		if (guest_read(in, new, sizeof(*in)))
			return -EFAULT;
		in->rlim_cur = to_host(in->rlim_cur, mine);
		in->rlim_max = to_host(in->rlim_max, mine);
	}
	ret = thread_syscall(t, __NR_prlimit64, (u64)pid, resource, new ? (u64)in : 0, old ? (u64)out : 0, 0, 0);
	if (ret || !old)
		return ret;
	lim.rlim_cur = to_guest(out->rlim_cur, mine);
	lim.rlim_max = to_guest(out->rlim_max, mine);
	return guest_write(old, &lim, sizeof(lim));
}

long sys_getrlimit(struct thread *t, const u64 *a)
{
	return own((u32)a[0]) && a[1] ? change(t, 0, (u32)a[0], 0, a[1]) : syscall_pass(t, a);
}

long sys_setrlimit(struct thread *t, const u64 *a)
{
	return own((u32)a[0]) && a[1] ? change(t, 0, (u32)a[0], a[1], 0) : syscall_pass(t, a);
}

long sys_prlimit64(struct thread *t, const u64 *a)
{
	s32 pid = (s32)a[0];

	if (!own((u32)a[1]) || (pid && !session_find_tid(pidns_own(), pid)))
		return syscall_pass(t, a);
	return change(t, pid, (u32)a[1], a[2], a[3]);
}
