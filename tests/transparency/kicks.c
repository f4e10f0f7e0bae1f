/*
 * A thread whose events are switched on and off all the time by another one must not notice: no call of its own ends
 * with EINTR. Where the host has no such events (natively) nothing is switched and the thread runs undisturbed.
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 2

static volatile int watched, stop;
static long interrupted;
static int pipe_ends[2];

static void *watch_me(void *arg)
{
	char c;

	watched = gettid();
	while (!stop) {
		struct timespec t = { 0, 1000 };

		for (volatile int i = 0; i < 100; i++)
			;
		interrupted += nanosleep(&t, NULL) < 0;
		interrupted += poll(NULL, 0, 0) < 0;
		interrupted += read(pipe_ends[0], &c, 1) != 1;
		interrupted += pselect(0, NULL, NULL, NULL, &t, NULL) < 0;
		interrupted += ppoll(NULL, 0, &t, NULL) < 0;
	}
	return NULL;
}

static void *feed(void *arg)
{
	while (write(pipe_ends[1], "x", 1) == 1)
		for (volatile int i = 0; i < 200; i++)
			;
	return NULL;
}

int main(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1
	};
	time_t end = time(NULL) + SECONDS;
	pthread_t thread, feeder;

	if (pipe(pipe_ends))
		return 1;
	pthread_create(&thread, NULL, watch_me, NULL);
	pthread_create(&feeder, NULL, feed, NULL);
	while (!watched)
		usleep(10);
	while (time(NULL) < end) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, watched, -1, -1, 0);

		for (int i = 0; fd >= 0 && i < 5; i++) {
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		}
		if (fd >= 0)
			close(fd);
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("interrupted %ld\n", interrupted);
	return 0;
}
