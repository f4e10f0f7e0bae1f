/* See sysfs.h. Contents and limits: Documentation/ABI/testing/sysfs-bus-event_source-devices-*, sysctl/kernel.rst. */
#include "pmu/sysfs.h"

#include <asm-generic/errno.h>
#include "event/space.h"
#include "pmu/events.h"
#include "pmu/vendor.h"
#include "rt/fmt.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define DEVICES "/sys/bus/event_source/devices"
#define CPU DEVICES "/cpu"
#define SOFTWARE DEVICES "/software"
#define BREAKPOINT DEVICES "/breakpoint"
#define TRACEPOINT DEVICES "/tracepoint"
#define UPROBE DEVICES "/uprobe"
#define EVENTS CPU "/events"
#define KERNEL "/proc/sys/kernel"

/* A file holds either a constant text or one number of the session. */
struct node {
	const char *path;
	enum pmu_node kind;
	const char *text;
	size_t number;	/* offset in struct event_sysctl, of files without text */
	s32 min, max;	/* what may be written */
	u32 mode;
	u32 of;		/* whose processors have it */
};

enum { ALL, AMD_OR_NONE, INTEL, INTEL_OR_NONE };

#define DIR(path) {path, PMU_NODE_DIR, NULL, 0, 0, 0, 0755, ALL}
#define TEXT(path, text) {path, PMU_NODE_FILE, text, 0, 0, 0, 0444, ALL}
#define OF(processors, path, text) {path, PMU_NODE_FILE, text, 0, 0, 0, 0444, processors}
#define NUMBER(path, field, min, max) \
	{path, PMU_NODE_FILE, NULL, offsetof(struct event_sysctl, field), min, max, 0644, ALL}
#define ANY_MIN (-0x7fffffff - 1)
#define ANY_MAX 0x7fffffff

static const struct node nodes[] = {
	DIR(DEVICES),
	DIR(CPU),
	TEXT(CPU "/type", "4\n"),
	NUMBER(CPU "/perf_event_mux_interval_ms", mux_interval_ms, 1, ANY_MAX),
	TEXT(CPU "/uevent", ""),
	NUMBER(CPU "/rdpmc", rdpmc, 0, 2),
	DIR(CPU "/format"),
	/* As the processor's own PMU: perf's tables name events for it with all of them. pcl refuses by number. */
	OF(AMD_OR_NONE, CPU "/format/event", "config:0-7,32-35\n"),
	OF(INTEL, CPU "/format/event", "config:0-7\n"),
	TEXT(CPU "/format/umask", "config:8-15\n"),
	TEXT(CPU "/format/edge", "config:18\n"),
	OF(INTEL, CPU "/format/pc", "config:19\n"),
	OF(INTEL, CPU "/format/any", "config:21\n"),
	TEXT(CPU "/format/inv", "config:23\n"),
	TEXT(CPU "/format/cmask", "config:24-31\n"),
	OF(INTEL, CPU "/format/in_tx", "config:32\n"),
	OF(INTEL, CPU "/format/in_tx_cp", "config:33\n"),
	OF(INTEL_OR_NONE, CPU "/format/offcore_rsp", "config1:0-63\n"),
	OF(INTEL_OR_NONE, CPU "/format/ldlat", "config1:0-15\n"),
	OF(INTEL_OR_NONE, CPU "/format/frontend", "config1:0-23\n"),
	TEXT(CPU "/format/callstack", "config1:0\n"),
	DIR(CPU "/caps"),
	TEXT(CPU "/caps/branches", "32\n"),
	TEXT(CPU "/caps/max_precise", "3\n"),
	TEXT(CPU "/caps/pmu_name", "pcl\n"),
	DIR(EVENTS),
	DIR(SOFTWARE),
	TEXT(SOFTWARE "/type", "1\n"),
	NUMBER(SOFTWARE "/perf_event_mux_interval_ms", mux_software_ms, 1, ANY_MAX),
	TEXT(SOFTWARE "/uevent", ""),
	DIR(BREAKPOINT),
	TEXT(BREAKPOINT "/type", "5\n"),
	NUMBER(BREAKPOINT "/perf_event_mux_interval_ms", mux_breakpoint_ms, 1, ANY_MAX),
	TEXT(BREAKPOINT "/uevent", ""),
	DIR(TRACEPOINT),
	TEXT(TRACEPOINT "/type", "2\n"),
	NUMBER(TRACEPOINT "/perf_event_mux_interval_ms", mux_tracepoint_ms, 1, ANY_MAX),
	TEXT(TRACEPOINT "/uevent", ""),
	DIR(UPROBE),
	TEXT(UPROBE "/type", "8\n"),
	NUMBER(UPROBE "/perf_event_mux_interval_ms", mux_uprobe_ms, 1, ANY_MAX),
	TEXT(UPROBE "/uevent", ""),
	DIR(UPROBE "/format"),
	TEXT(UPROBE "/format/retprobe", "config:0\n"),
	TEXT(UPROBE "/format/ref_ctr_offset", "config:32-63\n"),
	NUMBER(KERNEL "/perf_event_paranoid", paranoid, ANY_MIN, ANY_MAX),
	NUMBER(KERNEL "/perf_event_max_sample_rate", max_sample_rate, 1, ANY_MAX),
	NUMBER(KERNEL "/perf_event_mlock_kb", mlock_kb, ANY_MIN, ANY_MAX),
	NUMBER(KERNEL "/perf_event_max_stack", max_stack, 0, 640 * 1024),
	NUMBER(KERNEL "/perf_event_max_contexts_per_stack", max_contexts_per_stack, 0, 1000),
	NUMBER(KERNEL "/perf_cpu_time_max_percent", cpu_time_max_percent, 0, 100),
};

/* The path begins with the name of one of ours. */
static bool is_device(const char *path)
{
	static const char *const names[] = {"cpu", "software", "breakpoint", "tracepoint", "uprobe"};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(path, names[i], len) && (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

/* The path under DEVICES for one under /sys/devices, and without a slash at the end. NULL: nothing of ours. */
static const char *canonical(const char *path, char *buf, size_t size)
{
	static const char real[] = "/sys/devices/";
	const char *rest = path + sizeof(real) - 1;
	size_t len;

	if (strncmp(path, "/sys/", 5) && strncmp(path, "/proc/sys/kernel/perf_", 22))
		return NULL;
	if (!strncmp(path, real, sizeof(real) - 1)) {
		if (!is_device(rest))
			return NULL;
		len = (size_t)rt_snprintf(buf, size, "%s/%s", DEVICES, rest);
	} else {
		len = (size_t)rt_snprintf(buf, size, "%s", path);
	}
	if (len >= size)
		return NULL;
	if (len && buf[len - 1] == '/')
		buf[len - 1] = 0;
	return buf;
}

/* The session's processor has it. */
static bool is_there(const struct node *n)
{
	bool amd = vendor_is_amd(event_space->processor), intel = vendor_is_intel(event_space->processor);

	return n->of == INTEL ? intel : n->of == AMD_OR_NONE ? !intel : n->of == INTEL_OR_NONE ? !amd : true;
}

static const struct node *find_node(const char *path)
{
	for (u32 i = 0; i < ARRAY_SIZE(nodes); i++)
		if (is_there(&nodes[i]) && !strcmp(nodes[i].path, path))
			return &nodes[i];
	return NULL;
}

/* The event whose file in EVENTS this is. */
static const struct pmu_event *find_event(const char *path)
{
	size_t len = sizeof(EVENTS) - 1;

	if (strncmp(path, EVENTS "/", len + 1))
		return NULL;
	for (u32 i = 0; i < pmu_nr_events; i++)
		if (pmu_events[i].type == PERF_TYPE_RAW && !strcmp(pmu_events[i].name, path + len + 1))
			return &pmu_events[i];
	return NULL;
}

/* What the kernel's driver for this processor has too has the processor's own number, as there. */
static u64 config_of(const struct pmu_event *e)
{
	u64 config = vendor_generic(event_space->processor, (enum cell)e->source);

	return config ? config : e->config;
}

enum pmu_node pmu_sysfs_find(const char *path, u32 *mode)
{
	char buf[PMU_SYSFS_TEXT];
	const struct node *n;

	path = canonical(path, buf, sizeof(buf));
	n = path ? find_node(path) : NULL;
	if (mode)
		*mode = n ? n->mode : 0444;
	if (n)
		return n->kind;
	return path && find_event(path) ? PMU_NODE_FILE : PMU_NODE_NONE;
}

static s32 *number_of(const struct node *n)
{
	check(n->kind == PMU_NODE_FILE && !n->text);
	return (s32 *)((char *)event_sysctl() + n->number);
}

long pmu_sysfs_read(const char *path, char *buf, size_t size)
{
	char canon[PMU_SYSFS_TEXT];
	const struct pmu_event *e;
	const struct node *n;

	path = canonical(path, canon, sizeof(canon));
	if (!path)
		return -ENOENT;
	n = find_node(path);
	if (n && n->kind == PMU_NODE_DIR)
		return -EISDIR;
	if (n && n->text)
		return rt_snprintf(buf, size, "%s", n->text);
	if (n)
		return rt_snprintf(buf, size, "%d\n", __atomic_load_n(number_of(n), __ATOMIC_RELAXED));
	e = find_event(path);
	return e ? rt_snprintf(buf, size, "event=0x%02lx\n", config_of(e)) : -ENOENT;
}

/* A decimal number with white space around it, as the kernel's proc_dointvec() takes it. */
static int parse_number(const char *text, size_t n, s32 *out)
{
	char digits[16];
	size_t len = 0, i = 0;
	bool minus;
	u64 value;

	while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n'))
		i++;
	minus = i < n && text[i] == '-';
	i += minus;
	while (i < n && text[i] >= '0' && text[i] <= '9' && len < sizeof(digits) - 1)
		digits[len++] = text[i++];
	digits[len] = 0;
	if (i < n && text[i] != ' ' && text[i] != '\t' && text[i] != '\n' && text[i])
		return -EINVAL;
	if (!len || rt_parse_u64(digits, &value) || value > 0x80000000ul - !minus)
		return -EINVAL;
	*out = (s32)(minus ? -value : value);
	return 0;
}

static bool any_callchain(void)
{
	const struct event *e;
	bool found = false;

	event_lock();
	for_each_opened(e)
		found |= !!(e->attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	event_unlock();
	return found;
}

/*
 * What Linux refuses beside values out of range: perf_event_max_sample_rate_handler(), perf_event_max_stack_handler().
 */
static int set_number(s32 *number, s32 value)
{
	struct event_sysctl *s = event_sysctl();

	if (number == &s->max_sample_rate && (s->cpu_time_max_percent == 0 || s->cpu_time_max_percent == 100))
		return refuse(EINVAL, "perf_cpu_time_max_percent of 0 or 100 turns the limit off");
	if ((number == &s->max_stack || number == &s->max_contexts_per_stack) && any_callchain())
		return refuse(EBUSY, "an event with PERF_SAMPLE_CALLCHAIN is open");
	__atomic_store_n(number, value, __ATOMIC_RELAXED);
	if (number == &s->max_sample_rate)
		__atomic_store_n(&event_space->rate_set, 1, __ATOMIC_RELAXED);
	return 0;
}

long pmu_sysfs_write(const char *path, const char *text, size_t n)
{
	char canon[PMU_SYSFS_TEXT];
	const struct node *node;
	s32 value;
	int err;

	path = canonical(path, canon, sizeof(canon));
	node = path ? find_node(path) : NULL;
	if (!node)
		return path && find_event(path) ? -EACCES : -ENOENT;
	if (!(node->mode & 0200) || node->kind != PMU_NODE_FILE || sys0(__NR_geteuid) != 0)
		return -EACCES;
	if (parse_number(text, n, &value) || value < node->min || value > node->max)
		return -EINVAL;
	err = set_number(number_of(node), value);
	return err ? err : (long)n;
}

/* The last part of a node's path if it is directly in dir, else NULL. */
static const char *name_in(const struct node *n, const char *dir)
{
	size_t len = strlen(dir);

	if (strncmp(n->path, dir, len) || n->path[len] != '/' || strchr(n->path + len + 1, '/'))
		return NULL;
	return n->path + len + 1;
}

enum pmu_node pmu_sysfs_entry(const char *dir, u32 index, const char **name)
{
	char canon[PMU_SYSFS_TEXT];

	dir = canonical(dir, canon, sizeof(canon));
	if (!dir)
		return PMU_NODE_NONE;
	for (u32 i = 0; i < ARRAY_SIZE(nodes); i++) {
		*name = name_in(&nodes[i], dir);
		if (*name && is_there(&nodes[i]) && !index--)
			return nodes[i].kind;
	}
	if (strcmp(dir, EVENTS))
		return PMU_NODE_NONE;
	for (u32 i = 0; i < pmu_nr_events; i++) {
		*name = pmu_events[i].name;
		if (pmu_events[i].type == PERF_TYPE_RAW && !index--)
			return PMU_NODE_FILE;
	}
	return PMU_NODE_NONE;
}
