/* See machine.h. */
#include "os/pin/machine.h"
#include "os/pin/clock.h"
#include "os/session/arena.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/string.h"

#define TOTAL (8ul << 30)
#define FREE  (4ul << 30)

/* Lines of /proc/meminfo, in kB; those that are 0 come behind them. */
static const struct {
	const char *name;
	u64 bytes;
} sizes[] = {
	{"MemTotal", TOTAL},
	{"MemFree", FREE},
	{"MemAvailable", FREE + TOTAL / 4},
	{"Cached", TOTAL / 4},
	{"Inactive", TOTAL / 4},
	{"Inactive(file)", TOTAL / 4},
	{"CommitLimit", TOTAL / 2},
	{"VmallocTotal", 0x7fffffffffffUL},
	{"Hugepagesize", 2ul << 20},
};

static const char *const zeros[] = {
	"Buffers",	  "SwapCached",	  "Active",	  "Active(anon)",  "Inactive(anon)", "Active(file)",
	"Unevictable",    "Mlocked",      "SwapTotal",    "SwapFree",      "Dirty",          "Writeback",
	"AnonPages",	  "Mapped",	  "Shmem",	  "Slab",	   "PageTables",     "Committed_AS",
	"VmallocUsed",	  "VmallocChunk", "AnonHugePages", "Hugetlb",
};

/* Without a unit. */
static const char *const counts[] = {"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp"};

size_t pin_meminfo(u32 part, char *buf)
{
	size_t at = 0;

	if (part)
		return 0;
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		at = rt_append(buf, PIN_FILE_PART, at, "%s: %lu kB\n", sizes[i].name, sizes[i].bytes / 1024);
	for (u32 i = 0; i < ARRAY_SIZE(zeros); i++)
		at = rt_append(buf, PIN_FILE_PART, at, "%s: 0 kB\n", zeros[i]);
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		at = rt_append(buf, PIN_FILE_PART, at, "%s: 0\n", counts[i]);
	return at;
}

#define TIMES " 0 0 0 0 0 0 0 0 0 0\n"

/* A part is a line. */
size_t pin_stat(u32 part, char *buf)
{
	const struct session_cpus *cpus = &arena()->cpus;
	u32 line = 0;

	if (!part)
		return rt_append(buf, PIN_FILE_PART, 0, "cpu " TIMES);
	for (u32 cpu = 0; cpu < MIN(cpus->n, ARENA_CPUS); cpu++)
		if ((cpus->online[cpu / 64] >> cpu % 64 & 1) && ++line == part)
			return rt_append(buf, PIN_FILE_PART, 0, "cpu%u" TIMES, cpu);
	if (part != line + 1)
		return 0;
	return rt_append(buf, PIN_FILE_PART, 0,
			 "intr 0\nctxt 0\nbtime %lu\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n",
			 PIN_BOOT_TIME);
}

size_t pin_loadavg(u32 part, char *buf)
{
	return part ? 0 : rt_append(buf, PIN_FILE_PART, 0, "0.00 0.00 0.00 1/1 1\n");
}

const char *pin_cgroup_memory(const char *name)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{"memory.stat", "anon 0\nfile 0\ncache 0\nrss 0\nswap 0\ninactive_anon 0\nactive_anon 0\n"
				"inactive_file 0\nactive_file 0\nunevictable 0\n"
				"hierarchical_memory_limit 9223372036854771712\n"
				"hierarchical_memsw_limit 9223372036854771712\n"
				"total_cache 0\ntotal_rss 0\ntotal_swap 0\n"},
		{"memory.limit_in_bytes", "9223372036854771712\n"},
		{"memory.soft_limit_in_bytes", "9223372036854771712\n"},
		{"memory.memsw.limit_in_bytes", "9223372036854771712\n"},
		{"memory.usage_in_bytes", "0\n"},
		{"memory.max_usage_in_bytes", "0\n"},
		{"memory.max", "max\n"},
		{"memory.high", "max\n"},
		{"memory.swap.max", "max\n"},
		{"memory.low", "0\n"},
		{"memory.current", "0\n"},
		{"memory.peak", "0\n"},
		{"memory.swap.current", "0\n"},
	};

	for (u32 i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(name, files[i].name))
			return files[i].text;
	return NULL;
}

/* struct sysinfo, linux/sysinfo.h */
long pin_sysinfo(struct thread *t, const u64 *a, syscall_handler *host)
{
	struct {
		u64 uptime, loads[3], total, free, shared, buffer, total_swap, free_swap;
		u16 procs;
	} info;
	long ret = host(t, a);

	if (ret)
		return ret;
	if (guest_read(&info, a[0], sizeof(info)))
		return -EFAULT;
	if (held_still(PIN_CLOCK)) {
		info.uptime = pin_clock_uptime(t);
		memset(info.loads, 0, sizeof(info.loads));
	}
	if (held_still(PIN_MEMORY)) {
		memset(info.loads, 0, sizeof(info.loads));
		info.total = TOTAL;
		info.free = FREE;
		info.shared = info.buffer = info.total_swap = info.free_swap = 0;
		info.procs = 1;
	}
	return guest_write(a[0], &info, sizeof(info));
}
