/*
 * A program of known system calls for perf: 100 times getppid and 30 times openat of a file that does not exist, the
 * same in a child process and in another thread. The C library opens others before.
 *
 * cflags: -pthread
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *calls(void *unused)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 30; i++)
		syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	calls(NULL);
	if (fork() == 0) {
		calls(NULL);
		_exit(0);
	}
	wait(NULL);
	return pthread_create(&thread, NULL, calls, NULL) || pthread_join(thread, NULL);
}
