/*
 * See abi_2009.h. "The text" is the kernel's design.txt of October 2009; what it leaves open is decided in
 * doc/abi-2009.md.
 */
#include "perf/abi_2009.h"

#include <asm-generic/errno.h>
#include "abi/perf_2009.h"
#include "event/control.h"
#include "os/session/process.h"
#include "rt/guest.h"
#include "rt/refuse.h"

static bool is_there(void)
{
	return unlikely(the_process.config.abi == SESSION_ABI_2009);
}

bool abi_2009_is(gva structure)
{
	u64 word;

	if (!is_there() || guest_read(&word, structure, sizeof(word)))
		return is_there();
	return !HW_EVENT_IS_TODAYS(word);
}

/* ---- the structure ---- */

static int check_id(u64 type, u64 id)
{
	switch (type) {
	case PERF_TYPE_HARDWARE:
		return id <= HW_EVENT_HARDWARE_LAST ? 0 : refuse(EINVAL, "no hardware event of 2009 has this id");
	case PERF_TYPE_SOFTWARE:
		return id <= HW_EVENT_SOFTWARE_LAST ? 0 : refuse(EINVAL, "no software event of 2009 has this id");
	case PERF_TYPE_TRACEPOINT:
		return 0;
	default:
		return refuse(EINVAL, "the type in hw_event.config is not 0, 1 or 2");
	}
}

static int take_config(u64 config, struct perf_attr *attr)
{
	u64 type = config >> HW_EVENT_TYPE_SHIFT & HW_EVENT_TYPE, id = config & HW_EVENT_ID;

	if (config & HW_EVENT_RAW) {
		attr->type = PERF_TYPE_RAW;
		attr->config = config & ~HW_EVENT_RAW;
		return 0;
	}
	attr->type = (u32)type;
	attr->config = id;
	return check_id(type, id);
}

static int check_fields(const struct perf_hw_event_2009 *hw)
{
	if (hw->irq_period >> 63)
		return refuse(EINVAL, "hw_event.irq_period has bit 63 set");
	if (hw->record_type & ~RECORD_2009_KNOWN)
		return refuse(EINVAL, "unknown bit in hw_event.record_type");
	if (hw->read_format & ~FORMAT_2009_KNOWN)
		return refuse(EINVAL, "unknown bit in hw_event.read_format");
	if (hw->flags & ~(u64)HW_EVENT_FLAGS)
		return refuse(EINVAL, "reserved bit behind hw_event.comm");
	if (hw->extra_config_len)
		return refuse(EINVAL, "hw_event.extra_config_len: there is no extra configuration");
	if (hw->reserved_2 || hw->reserved_3)
		return refuse(EINVAL, "reserved field of hw_event is not zero");
	return 0;
}

static int make_attr(const struct perf_hw_event_2009 *hw, struct perf_attr *out)
{
	int err;

	*out = (struct perf_attr){
		.size = sizeof(*out),
		.sample_period = hw->irq_period,
		.sample_type = hw->record_type,
		.read_format = hw->read_format,
		.disabled = !!(hw->flags & HW_EVENT_DISABLED),
		.inherit = !!(hw->flags & HW_EVENT_INHERIT),
		.pinned = !!(hw->flags & HW_EVENT_PINNED),
		.exclusive = !!(hw->flags & HW_EVENT_EXCLUSIVE),
		.exclude_user = !!(hw->flags & HW_EVENT_EXCLUDE_USER),
		.exclude_kernel = !!(hw->flags & HW_EVENT_EXCLUDE_KERNEL),
		.exclude_hv = !!(hw->flags & HW_EVENT_EXCLUDE_HV),
		.exclude_idle = !!(hw->flags & HW_EVENT_EXCLUDE_IDLE),
		.mmap = !!(hw->flags & HW_EVENT_MMAP),
		.comm = !!(hw->flags & HW_EVENT_COMM),
		.wakeup_events = hw->wakeup_events,
	};
	err = take_config(hw->config, out);
	return err ? err : check_fields(hw);
}

/* ---- the calls ---- */

long abi_2009_open_begin(const u64 *a, struct event_request *out)
{
	struct perf_hw_event_2009 hw;
	struct perf_attr attr;
	s32 pid = (s32)a[1];
	int err;

	if (a[4])
		return refuse(EINVAL, "flags must be zero in the interface of 2009");
	if (guest_read(&hw, a[0], sizeof(hw)))
		return refuse(EFAULT, "hw_event points at memory that cannot be read");
	err = make_attr(&hw, &attr);
	if (err)
		return err;
	return event_open_begin_2009(&attr, EVENT_2009 | (hw.flags & HW_EVENT_MUNMAP ? EVENT_2009_MUNMAP : 0),
				     pid < 0 ? -1 : pid, (s32)a[2], (s32)a[3], out);
}

/* The text: what a CPU cannot count is EINVAL. The reason stays that of the refusal. */
long abi_2009_open_error(long err)
{
	return err == -ENOENT || err == -EOPNOTSUPP ? -EINVAL : err;
}

bool abi_2009_is_event(const struct thread *t, u64 fd)
{
	return is_there() && event_is_of_2009(t->cpu->slot, fd);
}

/* ENABLE and DISABLE have no argument: programs leave there what there was. */
long abi_2009_ioctl(struct thread *t, const u64 *a)
{
	u32 request = (u32)a[1];

	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
		return event_ioctl(t->cpu->slot, (u32)a[0], request, 0);
	case PERF_EVENT_IOC_REFRESH:
		return event_ioctl(t->cpu->slot, (u32)a[0], request, a[2]);
	default:
		return refuse(ENOTTY, "not an ioctl of the interface of 2009");
	}
}

void abi_2009_switch_attached(const struct thread *t, bool enable)
{
	if (is_there())
		event_switch_attached_2009(t->cpu->slot, enable);
}
