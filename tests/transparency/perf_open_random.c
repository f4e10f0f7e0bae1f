/*
 * Random calls of perf_event_open, read and ioctl on software events: each answer (0 or the errno, the length of a
 * read) is printed, and must be the same natively and under pcl. Seeded (the argument). What pcl refuses on purpose
 * (doc/linux-quirks.md) is left out.
 */
#include <stdint.h>
#include "tests/abi/errno/perf.h"

#define CALLS 4000
#define KEPT 12

static uint64_t seed = 20240801;

static uint32_t pick(uint32_t n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (uint32_t)(seed >> 33) % n;
}

static int one_in(uint32_t n)
{
	return pick(n) == 0;
}

/* Mostly good, each field sometimes not. */
static void random_attr(struct perf_attr *a)
{
	static const uint32_t sizes[] = {0, 64, 72, 80, 96, 104, 112, 120, 128, 136, 63, 4096, 4097, 100};
	static const uint64_t configs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 1000, 1ul << 40};

	memset(a, 0, sizeof(*a));
	a->type = one_in(12) ? 0x1000 + pick(5) : PERF_TYPE_SOFTWARE;
	a->size = sizes[pick(one_in(4) ? 14 : 10)];
	a->config = configs[pick(one_in(5) ? 13 : 10)];
	a->exclude_kernel = 1;
	a->read_format = pick(one_in(8) ? 64 : 16);
	a->disabled = one_in(3);
	a->inherit = one_in(4);
	a->pinned = one_in(8);
	a->exclusive = one_in(8);
	a->exclude_user = one_in(8);
	a->exclude_hv = one_in(4);
	a->exclude_idle = one_in(4);
	a->enable_on_exec = one_in(6);
	a->inherit_thread = one_in(12);
	a->remove_on_exec = one_in(12);
	a->sigtrap = one_in(16);
	a->inherit_stat = one_in(8);
	a->namespaces = one_in(16);
	a->aux_output = one_in(30);
	a->use_clockid = one_in(10);
	a->clockid = (int)pick(14);
	if (one_in(20))
		a->flags |= 1ul << (40 + pick(24));
	if (one_in(6))
		a->sample_type = 1ul << pick(one_in(4) ? 30 : 25);
	if (one_in(6))
		a->sample_type |= 1ul << pick(25);
	a->branch_sample_type = one_in(3) ? 1u << pick(22) : 0;
	a->sample_regs_user = one_in(2) ? 1ul << pick(40) : 0xff;
	a->sample_regs_intr = one_in(2) ? 1ul << pick(40) : 0xff;
	a->sample_stack_user = one_in(2) ? pick(70000) : 8 * pick(100);
	a->sample_max_stack = (uint16_t)(one_in(3) ? pick(400) : 0);
	if (one_in(30))
		a->reserved_2 = 1;
	if (one_in(30))
		a->aux_sample_size = pick(100);
	if (one_in(30))
		a->aux_action = pick(one_in(4) ? 16 : 8);
}

static int fds[KEPT];

static int random_group(void)
{
	static const int odd[] = {-2, 1000, 0, 0x7fffffff};

	if (one_in(20))
		return odd[pick(4)];
	return one_in(2) ? -1 : fds[pick(KEPT)];
}

static void open_one(int call)
{
	static struct {
		struct perf_attr a;
		char beyond[8192];
	} m;
	static const int cpus[] = {-1, -1, -1, -1, -1, 0, 0, -2, 100000};
	int pid = one_in(20) ? -1 : one_in(20) ? 99999999 : 0, cpu = cpus[pick(9)], group = random_group();
	unsigned long flags = one_in(15) ? pick(64) & ~4u : one_in(4) ? PERF_FLAG_FD_CLOEXEC : 0;
	uint32_t slot = pick(KEPT), size;
	long fd;

	random_attr(&m.a);
	size = m.a.size;
	if (one_in(10))
		m.beyond[pick(100)] = 1;
	fd = syscall(SYS_perf_event_open, &m.a, pid, cpu, group, flags);
	printf("%d open: %d%s\n", call, fd < 0 ? errno : 0, m.a.size != size ? " size changed" : "");
	memset(m.beyond, 0, sizeof(m.beyond));
	if (fd < 0)
		return;
	if (fds[slot] >= 0)
		close(fds[slot]);
	fds[slot] = (int)fd;
}

static void control_one(int call)
{
	static const unsigned cmds[] = {
		PERF_EVENT_IOC_ENABLE,       PERF_EVENT_IOC_DISABLE,  PERF_EVENT_IOC_RESET,   PERF_EVENT_IOC_REFRESH,
		PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_QUERY_BPF, PERF_EVENT_IOC_PERIOD, 0x2477,
	};
	unsigned long period = 1, cmd = cmds[pick(8)], arg = pick(4);
	int fd = fds[pick(KEPT)];

	if (cmd == PERF_EVENT_IOC_PERIOD)
		arg = (unsigned long)&period;
	printf("%d ioctl %lx: %d\n", call, cmd, ioctl(fd, cmd, arg) < 0 ? errno : 0);
}

static void read_one(int call)
{
	unsigned long v[128];
	long n = read(fds[pick(KEPT)], v, 8 * pick(64));

	printf("%d read: %ld\n", call, n < 0 ? -errno : n);
}

int main(int argc, char **argv)
{
	if (!perf_linux_is_new() || perf_result() == 77) {
		printf("no perf_event_open as that of Linux 6.15 and later\n");
		return 77;
	}
	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	for (int i = 0; i < KEPT; i++)
		fds[i] = -1;
	for (int call = 0; call < CALLS; call++) {
		switch (pick(4)) {
		case 0:
			control_one(call);
			break;
		case 1:
			read_one(call);
			break;
		default:
			open_one(call);
		}
	}
	return 0;
}
