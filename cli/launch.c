/*
 * Making a session and becoming its first guest; see launch.h.
 *
 * SESSION_FDS descriptors survive into the guest, neighbours; see os/session/arena.h. They sit just below the limit on
 * descriptors, but not above DESCRIPTORS_LOW: the kernel copies the table up to the highest open descriptor in every
 * fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cli/cache_dir.h"
#include "cli/launch.h"
#include "cli/limits.h"
#include "cli/pin.h"
#include "cli/processor.h"
#include "os/session/arena.h"
#include "os/session/handover.h"

#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10u
#endif
#define DESCRIPTORS_LOW 1024
#define FIRST_SLOT 1
#define RUNTIME_NAME "pclrt"
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

extern char **environ;

static struct session_config config;

static int complain(const char *what)
{
	fprintf(stderr, "pcl: %s: %s\n", what, strerror(errno));
	return -1;
}

/* The runtime is beside the command in a build tree and in ../lib/pcl in an installed one. */
static int open_runtime(void)
{
	static const char *const places[] = {"/" RUNTIME_NAME, "/../lib/pcl/" RUNTIME_NAME};
	static struct program self; /* a stack may be smaller than that: ulimit -s 16 */
	static char path[sizeof(self.path) + 32];

	if (find_self(&self))
		return -1;
	*strrchr(self.path, '/') = 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s%s", self.path, places[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT)
			return fd >= 0 ? fd : complain(path);
	}
	fprintf(stderr, "pcl: no " RUNTIME_NAME " in %s or %s/../lib/pcl\n", self.path, self.path);
	return -1;
}

/*
 * Linux 6.3 wants to be told that nobody will execute it, or forbids it otherwise (vm.memfd_noexec); an older one does
 * not know the flag.
 */
static int make_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, "pcl", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? (int)syscall(SYS_memfd_create, "pcl", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

/* Of this user, and of a size that nobody can change: whose pages went would be ended by the next access to them. */
static int make_arena(void)
{
	void *at = (void *)LAYOUT_ARENA;
	int fd = make_file();

	if (fd < 0)
		return complain("cannot make the session's memory");
	if (limits_size_file(fd, ARENA_FILE_SIZE))
		return -1;
	if (fchmod(fd, S_IRUSR | S_IWUSR) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return complain("cannot seal the session's memory");
	if (mmap(at, LAYOUT_ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != at)
		return complain("cannot map the session's memory");
	return fd;
}

static int make_waker(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = INT_MAX;

	if (fd < 0)
		return complain("cannot make the socket that wakes members");
	/* Room for as many datagrams as the system allows; without it there is a way round (perf/notify.c). */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

/* Where there is no /proc, the number is taken all the same: what is looked for below it is not found then. */
static int open_proc(void)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fd = open("/", O_PATH | O_CLOEXEC);
	return fd >= 0 ? fd : complain("/");
}

/* Where memfds cannot be executed, the number is taken all the same. */
static int make_spare(int runtime)
{
	int fd = (int)syscall(SYS_memfd_create, RUNTIME_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_memfd_create, RUNTIME_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		fd = dup(runtime);
	return fd >= 0 ? fd : complain("cannot make a descriptor");
}

/* Only in a guest is the arena's place taken: this program has nothing there of its own. */
bool launch_is_inside(void)
{
	void *at = mmap((void *)LAYOUT_ARENA, PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			-1, 0);

	if (at == MAP_FAILED)
		return errno == EEXIST;
	munmap(at, PAGE_SIZE);
	return false;
}

static bool is_free(int fd)
{
	return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

static bool are_free(int first, int n)
{
	while (n > 0 && is_free(first + n - 1))
		n--;
	return !n;
}

/* The least limit on descriptors with which all but EXE_FD are opened, each as low as can be, and then moved. */
static int descriptors_needed(void)
{
	int fd = 0;

	for (int opened = 0; opened < EXE_FD; fd++)
		opened += is_free(fd);
	while (!are_free(fd, SESSION_FDS))
		fd++;
	return fd + SESSION_FDS;
}

static int check_descriptors(void)
{
	int needed = descriptors_needed();
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= (rlim_t)needed)
		return 0;
	fprintf(stderr,
		"pcl: the limit on open files, %lu, leaves no room for pcl's own (ulimit -n): it needs %d here\n",
		(unsigned long)limit.rlim_cur, needed);
	return -1;
}

/* The first of the highest neighbouring free numbers for SESSION_FDS. */
static int find_numbers(void)
{
	struct rlimit limit;
	int fd = DESCRIPTORS_LOW;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < DESCRIPTORS_LOW)
		fd = (int)limit.rlim_cur;
	for (fd -= SESSION_FDS; fd > 2; fd--)
		if (are_free(fd, SESSION_FDS))
			return fd;
	fprintf(stderr, "pcl: no %d neighbouring descriptors are free below %d\n", SESSION_FDS, DESCRIPTORS_LOW);
	return -1;
}

/* Gives fd that number, not close-on-exec. */
static int move_to(int fd, int number)
{
	if (dup2(fd, number) < 0)
		return complain("cannot place a descriptor");
	close(fd);
	return 0;
}

static u64 monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ul + (u64)ts.tv_nsec;
}

static u64 random_id(void)
{
	u64 id = 0;

	if (syscall(SYS_getrandom, &id, sizeof(id), 0) != sizeof(id))
		id = (u64)getpid();
	return id;
}

static u32 namespace(const char *kind)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, &st) ? 0 : (u32)st.st_ino;
}

/* vm.overcommit_memory is 2, see rt/reserve.h. */
static bool promises_no_more_than_it_has(void)
{
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
	char mode = 0;

	if (fd < 0)
		return false;
	if (read(fd, &mode, 1) != 1)
		mode = 0;
	close(fd);
	return mode == '2';
}

static void fill_config(struct session_config *c, const struct options *o, int runtime_fd,
			const struct session_config *limits)
{
	*c = (struct session_config){
		.magic = ARENA_MAGIC,
		.size_of_arena = sizeof(struct arena),
		.strace = (u32)o->strace,
		.stats = (u32)o->stats,
		.why = o->why != NULL,
		.aslr = (u32)o->aslr,
		.paranoid = o->paranoid,
		.max_sample_rate = MAX(o->max_sample_rate, 0),
		.abi = (u32)o->abi,
		.regions = (u32)o->regions,
		.call_stacks = (u32)o->call_stacks,
		.processor = processor_chosen(),
		.counters = (u32)MAX(o->counters, 0),
		.accepts_no_model = o->no_model != 0,
		.no_traces = (u32)o->no_traces,
		.no_links = (u32)o->no_links,
		.no_ibl = (u32)o->no_ibl,
		.no_spans = (u32)o->no_spans,
		.no_unroll = (u32)o->no_unroll,
		.no_liveness = (u32)o->no_liveness,
		.no_approach = (u32)o->no_approach,
		.no_polls = (u32)o->no_polls,
		.landing = o->landing == OPTIONS_NOT_GIVEN ? 0 : 1 + (u32)o->landing,
		.bswap = o->top_byte == OPTIONS_NOT_GIVEN ? 0 : 1 + !!o->top_byte,
		.prefetch = o->prefetch == OPTIONS_NOT_GIVEN ? 0 : 1 + (u32)o->prefetch,
		.no_siblings = (u32)o->no_siblings,
		.no_bias = (u32)o->no_bias,
		.dump = (u32)o->dump,
		.dump_at = (u32)o->dump_at,
		.stress = (u32)o->stress,
		.one_insn_blocks = (u32)o->one_insn_blocks,
		.small_cache = (u32)o->small_cache,
		.dual_map = (u32)o->dual_map,
		.strict_overcommit = o->strict_overcommit || promises_no_more_than_it_has(),
		.log_level = (u32)o->log,
		.users = (u32)o->users,
		.runtime_fd = runtime_fd,
		.log_fd = STDERR_FILENO,
		.limit_as = limits->limit_as,
		.limit_data = limits->limit_data,
		.session_id = random_id(),
		.served_key = random_id(),
		.warm_settings = c->warm_settings,
		.cache_mib = (u32)o->cache_size,
		.user_namespace = namespace("user"),
		.pin = pin_chosen()->items,
		.pin_cpu = pin_chosen()->cpu,
		.cpu_level = pin_chosen()->level,
		.pin_state = pin_first_state(monotonic()),
	};
}

int launch_session(const struct options *options, bool is_command)
{
	struct session_config limits = {0};
	int runtime, memory, waker, proc, spare, cache, number;

	if (launch_is_inside())
		return LAUNCH_INSIDE;
	if (pin_begin(is_command || options->stats || options->why) || limits_lift(&limits) || check_descriptors())
		return -1;
	runtime = open_runtime();
	if (runtime < 0)
		return -1;
	memory = make_arena();
	waker = memory < 0 ? -1 : make_waker();
	proc = waker < 0 ? -1 : open_proc();
	spare = proc < 0 ? -1 : make_spare(runtime);
	cache = spare < 0 ? -1 : cache_dir_open(options);
	config.warm_settings = cache < 0 ? 0 : cache_settings(options);
	if (cache < 0 && spare >= 0) /* the number is taken all the same */
		cache = dup(proc);
	number = cache < 0 ? -1 : find_numbers();
	if (number < 0 || move_to(runtime, number + RUNTIME_FD) || move_to(memory, number + ARENA_FD) ||
	    move_to(waker, number + WAKER_FD) || move_to(proc, number + PROC_FD) ||
	    move_to(spare, number + SPARE_FD) || move_to(cache, number + CACHE_FD))
		return -1;
	slock_init(&arena()->lock, RANK_SESSION);
	fill_config(&config, options, number, &limits);
	arena()->clock.start = clock_read_pair(monotonic);
	arena()->pid_namespace = namespace("pid");
	arena()->tasks_high = FIRST_SLOT + 1;
	return 0;
}

/* For refusals_last_word(). */
static void name_first_member(void)
{
	struct refusals *all = &arena()->refusals;
	struct stat st;

	all->first = (s32)getpid();
	if (fstat(STDERR_FILENO, &st))
		return;
	all->error_device = st.st_dev;
	all->error_inode = st.st_ino;
}

/* The slot that is handed over to the runtime. */
static void fill_slot(struct task *t, const char *path)
{
	const char *slash = strrchr(path, '/');

	t->generation = 1;
	t->pid = t->tid = (s32)getpid();
	t->ppid = (s32)getppid();
	snprintf(t->comm, sizeof(t->comm), "%.15s", slash ? slash + 1 : path);
	__atomic_store_n(&t->state, TASK_NEW, __ATOMIC_RELEASE);
}

/* argv for /bin/sh running a script without #!, as execvp builds it. */
static char **shell_argv(const char *path, char **argv)
{
	size_t n = 0;
	char **out;

	while (argv[n])
		n++;
	out = calloc(n + 2, sizeof(*out));
	if (!out)
		return NULL;
	out[0] = "/bin/sh";
	out[1] = (char *)path;
	for (size_t i = 1; i < n; i++)
		out[i + 1] = argv[i];
	return out;
}

/* What is executed and with which argv. Returns NULL after a message. */
static char **resolve(const struct program *program, char **argv, const char **path)
{
	*path = program->path;
	if (!program->by_shell)
		return argv;
	*path = "/bin/sh";
	argv = shell_argv(program->path, argv);
	if (!argv)
		complain("cannot start the shell");
	return argv;
}

/* The environment, and what the runtime is to know. NULL: there is no memory, says errno. */
static char **with_handover(const char *path)
{
	const struct handover h = {.slot = FIRST_SLOT, .config = config};
	static char string[HANDOVER_MAX];
	size_t n = 0;
	char **out;

	while (environ[n])
		n++;
	out = calloc(n + 2, sizeof(*out));
	if (!out)
		return NULL;
	memcpy(out, environ, n * sizeof(*out));
	handover_make(string, &h, "", path);
	out[n] = string;
	return out;
}

int launch_guest(const struct program *program, char **argv)
{
	const char *path;
	char **env;

	argv = resolve(program, argv, &path);
	if (!argv)
		return LAUNCH_FAILED;
	fill_slot(&arena()->tasks[FIRST_SLOT], path);
	name_first_member();
	env = with_handover(path);
	if (env)
		syscall(SYS_execveat, config.runtime_fd, "", argv, env, AT_EMPTY_PATH);
	if (errno == E2BIG)
		return find_report(path, errno);
	/* A kernel with TOMOYO, as that of Debian 11, looks up the path that a descriptor has. */
	if (errno == ENOENT && access("/dev/fd", F_OK))
		complain("cannot start the runtime without /dev/fd (ln -s /proc/self/fd /dev/fd)");
	else
		complain("cannot start the runtime");
	return LAUNCH_FAILED;
}

int launch_inside(const struct program *program, char **argv)
{
	const char *path;

	argv = resolve(program, argv, &path);
	if (!argv)
		return LAUNCH_FAILED;
	execv(path, argv);
	return find_report(path, errno);
}
