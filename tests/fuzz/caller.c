/*
 * A random caller of everything that has to do with events, which samples all the while.
 *
 *   caller SEED STEPS [LOG]     random steps; each is written to LOG before it is done
 *   caller replay LOG           does the steps of a log again
 *
 * In the environment: FUZZ_RESULTS=FILE writes there what each step answered, and keeps to steps that answer the same
 * on every kernel. FUZZ_BROKEN=1 takes something harmless for wrong, to test what looks for the cause.
 *
 * One step is one line, "verb a b c d": four numbers that mean something for any state the process may be in, so that
 * any subset of a log's lines is a log (tests/fuzz/shrink uses that). Ends with 0, or 1 and a line that says what is
 * wrong: a torn record, a count that goes back, an answer that no kernel gives, something that is left when all is
 * closed. A crash or a hang speaks for itself.
 */
#include <sys/ucontext.h>
#include "tests/fuzz/room.h"
#include "tests/fuzz/verbs.h"

/* ---- where steps come from ---- */

static uint64_t seed;

static uint32_t pick(void)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (uint32_t)(seed >> 32);
}

static const char *random_verb(void)
{
	static const char *const verbs[] = {"open",    "open", "open", "ioctl", "ioctl",  "ioctl", "read",
					    "read",    "mmap", "mmap", "drain", "drain",  "drain", "poll",
					    "signal",  "fork", "kill", "kill",	"thread", "close", "enable",
					    "history", "work", "work", "work",	"work",	  "work"};

	return verbs[pick() % (sizeof(verbs) / sizeof(*verbs))];
}

/* Notifications of events that were sent before exec kill a program that does not expect them. */
static void become_another(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	execl("/proc/self/exe", self, "work", (char *)NULL);
}

/* A child does steps of its own, then ends, or becomes another program first. */
static void run_children(uint32_t a, uint32_t b)
{
	seed = a ^ (uint64_t)b << 32;
	for (uint32_t i = 0; i < b % 64; i++) {
		const char *verb = random_verb();
		uint32_t p[4] = {pick(), pick(), pick(), pick()};

		step(verb, p[0], p[1], p[2], p[3]);
	}
	if (a % 5 == 0)
		become_another();
	if (a % 7 == 0)
		for (int i = 0; i < 500; i++)
			work(pick(), pick());
}

/* All that are open but those of events: the same number after each step. */
static int other_descriptors(void)
{
	int n = -(epoll_fd >= 0);

	for (int i = 0; i < 64; i++)
		n += fcntl(i, F_GETFD) >= 0;
	for (int i = 0; i < FDS; i++)
		n -= slot[i].fd != 0;
	return n;
}

/* One step of the first process. */
static void first_step(const char *verb, const uint32_t p[4])
{
	int before = other_descriptors(), after;

	step(verb, p[0], p[1], p[2], p[3]);
	after = other_descriptors();
	if (after != before)
		wrong("a step leaves descriptors", (uint64_t)after - (uint64_t)before,
		      (uint64_t)verb[0] << 8 | (uint64_t)verb[1]);
}

static void run_random(uint32_t steps, FILE *log)
{
	for (uint32_t i = 0; i < steps && !failures; i++) {
		const char *verb = random_verb();
		uint32_t p[4] = {pick(), pick(), pick(), pick()};

		if (log) {
			fprintf(log, "%s %u %u %u %u\n", verb, p[0], p[1], p[2], p[3]);
			fflush(log);
		}
		first_step(verb, p);
	}
}

static void run_log(FILE *log)
{
	char verb[16];
	uint32_t p[4];

	while (!failures && fscanf(log, "%15s %u %u %u %u", verb, &p[0], &p[1], &p[2], &p[3]) == 5)
		first_step(verb, p);
}

static void clean_up(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (child[i])
			kill(child[i], SIGKILL);
		if (child[i])
			waitpid(child[i], NULL, 0);
	}
	for (int i = 0; i < FDS; i++) {
		do_drain((uint32_t)i);
		forget(&slot[i]);
	}
}

/* ---- what is left ---- */

static void name_descriptors(void)
{
	char path[64], name[256];
	ssize_t n;

	for (int i = 0; i < 1024; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		n = readlink(path, name, sizeof(name) - 1);
		if (n >= 0)
			printf("descriptor %d: %.*s\n", i, (int)n, name);
	}
}

static void check_room(struct room before)
{
	struct room now = room_now();

	if (now.fds != before.fds) {
		wrong("descriptors are left", (uint64_t)now.fds, (uint64_t)before.fds);
		name_descriptors();
	}
	if (now.pages < before.pages && !results)
		wrong("less room for rings than before", (uint64_t)now.pages, (uint64_t)before.pages);
}

/* Of any process: nothing that a caller does has one. It dies of it all the same. */
static void on_crash(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	char text[128];
	int n = snprintf(text, sizeof(text),
			 "wrong: signal (%d), code %d, address %p, at %llx, sp %llx in process %d\n", signo,
			 info->si_code, info->si_addr, uc->uc_mcontext.gregs[REG_RIP], uc->uc_mcontext.gregs[REG_RSP],
			 (int)getpid());

	if (write(1, text, (size_t)n) == n)
		signal(signo, SIG_DFL);
}

int main(int argc, char **argv)
{
	FILE *log = NULL;
	struct rlimit pending = {SIGNALS_QUEUED, SIGNALS_QUEUED};
	struct room before;

	setrlimit(RLIMIT_SIGPENDING, &pending);
	sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO}, NULL);
	sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO}, NULL);
	self = argv[0];
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGRTMIN + 3, on_signal);
	signal(SIGIO, on_signal);
	signal(SIGTRAP, on_signal);
	resets = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	known = mmap(NULL, KNOWN_IDS * sizeof(*known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (resets == MAP_FAILED || (void *)known == MAP_FAILED)
		return 2;
	if (argc > 1 && !strcmp(argv[1], "work")) {
		for (uint32_t i = 0; i < 20; i++)
			work(i, 1000 + i);
		return 0;
	}
	if (argc < 3)
		return 2;
	probe_find();
	tracepoints_find();
	cgroup_open();
	before = room_now();
	broken = getenv("FUZZ_BROKEN") != NULL;
	if (getenv("FUZZ_RESULTS"))
		results = fopen(getenv("FUZZ_RESULTS"), "we");
	lengths_differ = results != NULL;
	if (!strcmp(argv[1], "replay")) {
		log = fopen(argv[2], "re");
		if (!log)
			return 2;
		run_log(log);
	} else {
		seed = strtoul(argv[1], NULL, 0);
		log = argc > 3 ? fopen(argv[3], "we") : NULL;
		run_random((uint32_t)strtoul(argv[2], NULL, 0), log);
	}
	clean_up();
	if (epoll_fd >= 0)
		close(epoll_fd);
	if (log)
		fclose(log);
	if (results)
		fclose(results);
	check_room(before);
	printf("%s: %u records\n", failures ? "failed" : "ok", records);
	return failures != 0;
}
