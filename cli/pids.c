/* See pids.h. */
#include "cli/pids.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/launch.h"
#include "cli/pin.h"
#include "cli/stay.h"
#include "os/session/arena.h"

#define INIT	    1
#define FIRST_GUEST 2
#define BEHIND_ME   SIGUSR1 /* to the init: its sender's number is to be the last one given */
#define LAST_NUMBER "/proc/sys/kernel/ns_last_pid"
#define PLAIN	    (CLONE_NEWPID | CLONE_NEWNS)
#define BY_USER	    (PLAIN | CLONE_NEWUSER)

enum { READ, WRITE };

/* What could not be done: of the init's report, and for the user. */
enum step { DONE, NO_PROC, NAMESPACE, MAPS, ROOT, PROC, JOIN };

static const char *const steps[] = {
	[NO_PROC] = "there is no /proc, by which namespaces are joined",
	[NAMESPACE] = "the host refuses a namespace of its own",
	[MAPS] = "the host refuses to map the user into one",
	[ROOT] = "the root directory is no mount point, as after chroot",
	[PROC] = "the host refuses to mount a /proc of its own",
	[JOIN] = "the host refuses to join a namespace",
};

struct report {
	enum step refused;
	int error;
};

struct init {
	pid_t pid;
	int pipe; /* it waits for a byte from there, or for its end */
};

static void close_all_but(int a, int b)
{
	if (a > 0)
		close_range(0, (unsigned)a - 1, 0);
	if (b > a + 1)
		close_range((unsigned)a + 1, (unsigned)b - 1, 0);
	close_range((unsigned)b + 1, ~0u, 0);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return ret;
}

/* Each is itself. */
static int map_user(uid_t uid, gid_t gid)
{
	char users[40], groups[40];

	snprintf(users, sizeof(users), "%u %u 1", uid, uid);
	snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
	if (write_text("/proc/self/setgroups", "deny") || write_text("/proc/self/gid_map", groups))
		return -1;
	return write_text("/proc/self/uid_map", users);
}

/* In a mount namespace of its own: what is mounted outside later is seen, and nothing that is mounted here is outside.
 */
static enum step mount_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return errno == EINVAL ? ROOT : PROC;
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ? PROC : DONE;
}

/* ---- the init ---- */

static struct report prepare(int flags, uid_t uid, gid_t gid)
{
	enum step refused;

	if (flags & CLONE_NEWUSER && map_user(uid, gid))
		return (struct report){MAPS, errno};
	refused = mount_proc();
	return (struct report){refused, refused ? errno : 0};
}

/* pcl was killed. Processes of pcl's that stay as parents would not pass that on. */
static void kill_program(bool staying)
{
	struct pollfd guest = {.fd = (int)syscall(SYS_pidfd_open, FIRST_GUEST, 0), .events = POLLIN};

	kill(staying ? -1 : FIRST_GUEST, SIGKILL);
	if (guest.fd >= 0)
		poll(&guest, 1, -1);
}

static void set_last_number(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	char text[12];

	snprintf(text, sizeof(text), "%d", info->si_pid);
	write_text(LAST_NUMBER, text);
	errno = saved;
}

/* Its children end without a trace, since SIGCHLD is ignored; the last one's end is that of wait(). */
static _Noreturn void be_init(int alive, int up, struct report report, bool staying)
{
	struct sigaction behind = {.sa_sigaction = set_last_number, .sa_flags = SA_SIGINFO | SA_RESTART};
	char over;

	signal(SIGCHLD, SIG_IGN);
	sigaction(BEHIND_ME, &behind, NULL);
	if (write(up, &report, sizeof(report)) != sizeof(report) || report.refused || chdir("/"))
		_exit(1);
	close_all_but(alive, alive);
	if (!read(alive, &over, 1))
		kill_program(staying);
	while (wait(NULL) >= 0 || errno == EINTR)
		;
	_exit(0);
}

/* ---- pcl's side ---- */

/* False: it could not be; `report` says why. */
static bool start(int flags, bool staying, struct init *init, struct report *report)
{
	int alive[2] = {-1, -1}, up[2] = {-1, -1};
	uid_t uid = geteuid();
	gid_t gid = getegid();

	*report = (struct report){NAMESPACE, 0};
	if (!pipe2(alive, O_CLOEXEC) && !pipe2(up, O_CLOEXEC))
		init->pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	report->error = errno;
	if (!init->pid) {
		close(alive[WRITE]);
		be_init(alive[READ], up[WRITE], prepare(flags, uid, gid), staying);
	}
	close(alive[READ]);
	close(up[WRITE]);
	init->pipe = alive[WRITE];
	if (init->pid > 0 && read(up[READ], report, sizeof(*report)) != sizeof(*report))
		*report = (struct report){NAMESPACE, EIO};
	close(up[READ]);
	if (!report->refused)
		return true;
	close(init->pipe);
	if (init->pid > 0)
		waitpid(init->pid, NULL, 0);
	return false;
}

static enum pids_way start_any(bool staying, struct init *init, const char **why)
{
	struct report report;
	enum pids_way way = PIDS_REFUSED;

	*init = (struct init){-1, -1};
	*why = steps[NO_PROC];
	if (access("/proc/self/ns/pid", F_OK))
		return PIDS_REFUSED;
	if (start(PLAIN, staying, init, &report))
		way = PIDS_PLAIN;
	else if (report.refused != ROOT && start(BY_USER, staying, init, &report))
		way = PIDS_BY_USER;
	*why = steps[report.refused];
	errno = report.error;
	return way;
}

static void end(struct init *init)
{
	if (write(init->pipe, "", 1) != 1)
		kill(init->pid, SIGKILL);
	close(init->pipe);
}

/* This process, or its children if that is `pid`, are where the init is from now on. */
static int join(const struct init *init, const char *kind, int flag)
{
	char path[40];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", init->pid, kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = setns(fd, flag);
	close(fd);
	return ret;
}

static int join_all(const struct init *init, enum pids_way way)
{
	return (way == PIDS_BY_USER && join(init, "user", CLONE_NEWUSER)) || join(init, "pid", CLONE_NEWPID) ? -1 : 0;
}

/* In a child, as joining is for good. 0 or errno. */
static int try_join(const struct init *init, enum pids_way way)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(join_all(init, way) ? errno : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM; /* by a seccomp filter */
}

enum pids_way pids_try(const char **why)
{
	struct init init;
	enum pids_way way = start_any(false, &init, why);
	int err;

	if (!way)
		return way;
	err = try_join(&init, way);
	if (err) {
		*why = steps[JOIN];
		way = PIDS_REFUSED;
	}
	end(&init);
	waitpid(init.pid, NULL, 0);
	errno = err;
	return way;
}

/* Passes on what happens until the first guest ends, and ends as that does. Holds no file open meanwhile. */
static _Noreturn void stay(struct init *init, pid_t guest)
{
	int status;

	close_all_but(init->pipe, init->pipe);
	status = stay_wait(guest, NULL, NULL);
	end(init);
	stay_end_as(status);
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "pcl: process ids cannot be held still: %s: %s\n", what, strerror(errno));
	_exit(LAUNCH_FAILED);
}

int pids_begin(bool staying, const char **why)
{
	struct init init;
	enum pids_way way = start_any(staying, &init, why);
	pid_t guest;

	if (!way)
		return -1;
	if (join_all(&init, way))
		fail(steps[JOIN]);
	guest = stay_fork();
	if (guest < 0)
		_exit(LAUNCH_FAILED);
	if (guest)
		stay(&init, guest);
	close(init.pipe);
	if (unshare(CLONE_NEWNS) || mount_proc() != DONE)
		fail(steps[PROC]);
	return 0;
}

static int last_number(void)
{
	FILE *file = fopen(LAST_NUMBER, "re");
	int number = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

/*
 * The init does it some time after the signal, so it gets none if there is nothing to do: nobody would wait for it, and
 * numbers would begin again in the middle of a run.
 */
void pids_begin_again(void)
{
	static const struct timespec interval = {.tv_nsec = 100000};
	int held = prctl(PIN_HELD), self = getpid(), last;

	if (held < 0 || !(held >> PIN_PIDS & 1))
		return;
	last = last_number();
	if (!last || last == self || kill(INIT, BEHIND_ME))
		return;
	for (int i = 0; i < 1000 && last_number() != self; i++)
		nanosleep(&interval, NULL);
}
