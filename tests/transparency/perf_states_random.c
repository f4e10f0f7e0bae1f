/*
 * Random changes of the states of task-clock events: groups, ENABLE, DISABLE, RESET with and without the group flag,
 * prctl, close, inheritance by children that run and exit. After each, which events count, and which stand at 0, is
 * printed and must be the same natively and under pcl. Seeded (the argument).
 */
#include <stdint.h>
#include "tests/abi/errno/perf.h"

#define STEPS 1500
#define KEPT 10

static uint64_t seed = 20240802;

static uint32_t pick(uint32_t n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (uint32_t)(seed >> 33) % n;
}

static struct {
	int fd, inherit;
	unsigned long last, enabled;
} kept[KEPT];

static void spin(void)
{
	for (volatile int i = 0; i < 4000; i++)
		;
}

/* After a change Linux may leave an event off until the task is scheduled again. */
static void settle(void)
{
	usleep(1);
	spin();
}

static void open_one(uint32_t i)
{
	uint32_t group = pick(KEPT);
	struct perf_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
	int leader = pick(2) ? kept[group].fd : -1;

	a.disabled = pick(2);
	a.inherit = pick(2);
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (kept[i].fd >= 0)
		return;
	kept[i].fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, 0);
	kept[i].last = kept[i].enabled = 0;
	printf(" open %s", kept[i].fd < 0 ? strerror(errno) : "");
}

static void control_one(uint32_t i)
{
	static const unsigned cmds[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET};
	unsigned cmd = pick(3), flag = pick(2);

	printf(" ioctl %u %u: %d", cmd, flag, ioctl(kept[i].fd, cmds[cmd], (unsigned long)flag) < 0 ? errno : 0);
}

/* The child runs, and may change the state of what it has inherited the descriptor of. */
static void fork_one(uint32_t i)
{
	static const unsigned cmds[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE};
	unsigned cmd = cmds[pick(2)], flag = pick(2), also = pick(2), grand = pick(3) == 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		spin();
		if (also)
			ioctl(kept[i].fd, cmd, (unsigned long)flag);
		if (grand && !fork()) {
			spin();
			_exit(0);
		}
		if (grand)
			wait(NULL);
		spin();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf(" fork");
}

static void close_one(uint32_t i)
{
	if (kept[i].fd < 0 || pick(3))
		return;
	close(kept[i].fd);
	kept[i].fd = -1;
	printf(" close");
}

/* + counts, = does not, 0 stands at 0; t if its time runs. */
static void show(void)
{
	unsigned long v[3];

	for (int i = 0; i < KEPT; i++) {
		if (kept[i].fd < 0 || read(kept[i].fd, v, sizeof(v)) != sizeof(v)) {
			printf(" .");
			continue;
		}
		printf(" %c%s%s",
		       v[0] == 0	      ? '0'
		       : v[0] != kept[i].last ? '+'
					      : '=',
		       v[1] != kept[i].enabled ? "t" : "", v[2] > v[1] ? "!" : "");
		kept[i].last = v[0];
		kept[i].enabled = v[1];
	}
	printf("\n");
}

/*
 * An event that is not inherited: with one, Linux does not give the parent's events to a child, and back, at a context
 * switch, after which it is a matter of chance whether the original is still there.
 */
static void keep_apart(void)
{
	struct perf_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1};

	syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

int main(int argc, char **argv)
{
	keep_apart();
	if (!perf_linux_is_new() || perf_result() == 77) {
		printf("no perf_event_open as that of Linux 6.15 and later\n");
		return 77;
	}
	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	for (int i = 0; i < KEPT; i++)
		kept[i].fd = -1;
	for (int step = 0; step < STEPS; step++) {
		uint32_t i = pick(KEPT), what = pick(40);

		printf("%d (%u)", step, i);
		if (what < 12)
			open_one(i);
		else if (what < 28)
			control_one(i);
		else if (what < 34)
			close_one(i);
		else if (what < 37)
			fork_one(i);
		else
			printf(" prctl %d", prctl(what & 1 ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE));
		settle();
		show(); /* what this step made of the events */
		spin();
		printf("   ");
		show(); /* and what they do since */
	}
	return 0;
}
