/*
 * See modify.h. The order of the checks is that of Linux 6.18 (seen by tests/abi/breakpoint_modify.c on the host's
 * kernel).
 */
#include "event/modify.h"

#include <asm-generic/errno.h>
#include "event/attr.h"
#include "event/event.h"
#include "event/files.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

static int check_type(const struct perf_attr *old, const struct perf_attr *new)
{
	if (new->type != old->type)
		return refuse(EINVAL, "attr.type cannot be modified");
	/*
	 * Linux quirk: the clocks have moved to PMUs of their own, whose type is not the one that they were opened
	 * with.
	 */
	if (old->type == PERF_TYPE_SOFTWARE && old->config <= PERF_COUNT_SW_TASK_CLOCK)
		return refuse(EINVAL, "clock events cannot be modified");
	if (old->type != PERF_TYPE_BREAKPOINT)
		return refuse(EOPNOTSUPP, "only breakpoints can be modified");
	return 0;
}

/* What may differ. */
static void copy_breakpoint(struct perf_attr *to, const struct perf_attr *from)
{
	to->bp_addr = from->bp_addr;
	to->bp_len = from->bp_len;
	to->bp_type = from->bp_type;
	to->disabled = from->disabled;
}

static int check_breakpoint(const struct event *e, const struct perf_attr *new, struct event_source *source)
{
	struct perf_attr same = e->attr;
	int err;

	*source = (struct event_source){0};
	err = pmu_by_number(e->pmu)->event_init(new, source);
	if (err)
		return err;
	copy_breakpoint(&same, new);
	if (memcmp(&same, new, sizeof(same)))
		return refuse(EINVAL, "more than the breakpoint, attr.disabled and attr.sig_data differ");
	return 0;
}

static void apply(struct event *e, const struct perf_attr *new, const struct event_source *source)
{
	struct event *c;

	check_slow(event_is_locked());
	copy_breakpoint(&e->attr, new);
	e->source = *source;
	for_each_child(c, e) {
		c->attr.sig_data = new->sig_data;
		copy_breakpoint(&c->attr, new);
		c->source = *source;
	}
}

/*
 * The kernel disables first and enables last, whatever the checks in between say, and as attr.disabled says, not as it
 * was. Only sig_data is taken before them.
 */
static int modify(struct event *root, const struct perf_attr *new)
{
	struct event_source source;
	int err;

	root->attr.sig_data = new->sig_data;
	err = check_breakpoint(root, new, &source);
	if (!err) {
		event_disable_family(root);
		apply(root, new, &source);
	} else {
		event_disable(root);
	}
	if (root->attr.disabled)
		return err;
	if (err)
		event_enable(root);
	else
		event_enable_family(root);
	return err;
}

int event_modify(task_id task, u64 fd, gva uattr)
{
	struct perf_attr new;
	struct event *e;
	int err = attr_copy(uattr, &new);

	if (err)
		return err;
	event_lock();
	e = event_files_get_locked(task, fd);
	err = e ? check_type(&e->attr, &new) : refuse(EBADF, "the event was closed meanwhile");
	err = err ? err : modify(e, &new);
	event_unlock();
	return err;
}
