/*
 * A member that gave up its privileges writes over all of the session's memory that it can reach, while others, still
 * root, use all of pcl (members.h). Nobody may go where it points them.
 *
 *   hostile PCL FILE ROUND [plain] [storm]   natively: starts the session and judges. FILE is what all share.
 *
 * plain  the writer stays the user that it is
 * storm  it writes without a pause, at random, for STORM_MS, and members that end are replaced. ROUND is the seed then
 *
 * In round 0 the value that is written first is the address of code that says, in FILE, that it was reached. Other
 * rounds begin with other values, and leave most pages alone at a time, so that members live longer. Members that are
 * misled otherwise crash in the runtime, which says so on standard error. What is allowed: wrong counts, failing calls,
 * and members that end with a message.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "rt/layout.h"
#include "tests/kill/members.h"
#include "tests/kill/pages.h"

#define NOBODY 65534
#define MARK_AT 0x414141000000ul /* the code */
#define PASSES 6
#define END_SECONDS 20
#define STORM_MS 1200

static void map_file(const char *path)
{
	int fd = open(path, O_RDWR);

	if (fd < 0 || mmap((void *)FILE_AT, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) !=
			      (void *)FILE_AT) {
		perror(path);
		exit(1);
	}
	close(fd);
}

/*
 * movabs $FILE_AT, %rax; movl $1, (%rax); mov $SYS_exit_group, %eax; mov $66, %edi; syscall. The writer itself runs
 * into it where that works.
 */
static void make_mark(void)
{
	static const unsigned char code[] = {0x48, 0xb8, 0,    0,   0, 0x42, 0x41, 0x41, 0,  0, 0xc7, 0, 1,    0,
					     0,    0,    0xb8, 231, 0, 0,    0,    0xbf, 66, 0, 0,    0, 0x0f, 5};
	void *at = mmap((void *)MARK_AT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at != (void *)MARK_AT) {
		perror("mmap");
		exit(1);
	}
	memcpy(at, code, sizeof(code));
}

/* ---- the writer ---- */

static uint64_t value_of(int pass, uint64_t at)
{
	switch (pass) {
	case 0:
		return MARK_AT;
	case 1:
		return 0x0101010101010101;
	case 2:
		return ~0ul;
	case 3:
		return (at * 0x9e3779b97f4a7c15ul) >> 40; /* small numbers */
	case 4:
		return 0x2121212121212121;
	default:
		return (at * 0x9e3779b97f4a7c15ul) ^ at << 7;
	}
}

static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/*
 * Some words in a row: values of the passes, what is elsewhere in the session's memory, or what is there, a little
 * changed.
 */
static void scribble(const uint64_t *page, size_t n, const uint64_t *from, size_t all)
{
	uint64_t at = page[any() % n] + any() % PAGE / 8 * 8, kind = any() % 10, size = 8ul << any() % 10;
	uint64_t source = from[any() % all] + any() % PAGE / 8 * 8;

	for (uint64_t end = at / PAGE * PAGE + PAGE; size && at < end; at += 8, source += 8, size -= 8) {
		volatile uint64_t *word = (volatile uint64_t *)at;

		if (kind < PASSES)
			*word = value_of((int)kind, at);
		else if (kind == PASSES && source / PAGE == (source - 8) / PAGE)
			*word = *(volatile uint64_t *)source;
		else if (kind == PASSES + 1)
			*word += any() % 5 - 2;
		else if (kind == PASSES + 2)
			*word ^= 1ul << any() % 64;
		else
			*(volatile uint32_t *)(at + any() % 2 * 4) = (uint32_t)any() % 64;
	}
}

/* In most rounds only some pages, so that members live longer. */
static void __attribute__((noreturn)) storm(int round, const uint64_t *page, size_t n)
{
	static const size_t few[] = {1, 3, 10, ~0ul};
	uint64_t some[10], end = now_ms() + STORM_MS;
	size_t in_some = few[round % 4];

	state = 0x9e3779b97f4a7c15 * (uint64_t)(round + 1);
	for (size_t i = 0; i < in_some && i < 10; i++)
		some[i] = page[any() % n];
	while (!shared->stop && now_ms() < end) {
		for (int i = 0; i < 100; i++)
			scribble(in_some > n ? page : some, in_some > n ? n : in_some, page, n);
		shared->written = PASSES;
	}
	_exit(0);
}

static void __attribute__((noreturn)) writer(int round, bool plain, bool is_storm)
{
	uint64_t *page;
	size_t n;

	shared->pid[MEMBERS] = getpid();
	n = find_pages(&page); /* before: mincore tells only the owner of a file */
	shared->pages = n;
	if (!plain && (setgid(NOBODY) || setuid(NOBODY)))
		exit(1);
	if (is_storm)
		storm(round, page, n);
	for (int pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < n; i++) {
			if (round && (page[i] / PAGE * 2654435761u >> 7 ^ pass * 5 ^ round) % 8)
				continue;
			for (uint64_t at = page[i]; at < page[i] + PAGE; at += 8)
				*(volatile uint64_t *)at = value_of((pass + round) % PASSES, at);
		}
		shared->written = (uint32_t)pass + 1;
		nap(100);
	}
	_exit(0);
}

static int session(const char *path, int round, bool plain, bool is_storm)
{
	pid_t pid, is[MEMBERS];

	map_file(path);
	make_mark();
	shared->pid[MEMBERS + 1] = getpid();
	for (int i = 0; i < MEMBERS; i++) {
		is[i] = fork();
		if (!is[i])
			member(i);
	}
	for (int i = 0; i < 2000; i++) {
		int ready = 0;

		for (int m = 0; m < MEMBERS; m++)
			ready += shared->beats[m] > 3;
		if (ready == MEMBERS)
			break;
		nap(5);
	}
	if (!fork())
		writer(round, plain, is_storm);
	while ((pid = waitpid(-1, NULL, 0)) > 0) {
		for (int i = 0; i < MEMBERS && is_storm && !shared->stop; i++) {
			is[i] = is[i] == pid ? fork() : is[i];
			if (!is[i])
				member(i);
		}
	}
	return 0;
}

/* ---- the judge ---- */

/* The processes that are left: whatever loses its parent is given to this one. */
static int children(pid_t *pid, int max)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int n = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	while (f && n < max && fscanf(f, "%d", &pid[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

/* Where it is, some times over, and what may be return addresses: those of the runtime. */
static void show_code(pid_t pid)
{
	struct user_regs_struct r;

	for (int i = 0; i < 3; i++) {
		if (ptrace(PTRACE_ATTACH, pid, 0, 0))
			return;
		waitpid(pid, NULL, __WALL);
		if (!ptrace(PTRACE_GETREGS, pid, 0, &r)) {
			printf("  rip %llx rsp %llx, on the stack:", r.rip, r.rsp);
			for (unsigned long at = r.rsp, n = 0; n < 12 && at < r.rsp + 4096; at += 8) {
				unsigned long word = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, at, 0);

				if (word >> 24 == LAYOUT_BASE >> 24) {
					printf(" %lx", word);
					n++;
				}
			}
			printf("\n");
		}
		ptrace(PTRACE_DETACH, pid, 0, 0);
		nap(5);
	}
}

/* What a process does that hangs: its system call, with the addresses of its stack and code; its state. */
static void show(pid_t pid)
{
	static const char *const names[] = {"syscall", "wchan", "status"};
	char path[64], line[256];

	printf("%d hangs\n", pid);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, names[i]);
		f = fopen(path, "r");
		for (int n = 0; f && n < 4 && fgets(line, sizeof(line), f); n++)
			printf("  %s: %s%s", names[i], line, strchr(line, '\n') ? "" : "\n");
		if (f)
			fclose(f);
	}
	show_code(pid);
}

static bool is_gone(pid_t pid)
{
	return !pid || (kill(pid, 0) && errno == ESRCH);
}

/* Whose pages went would end all members by their next access; and other users are not to open it in /proc. */
static bool is_sealed(pid_t pid)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char path[64], name[64];
	struct stat st;

	for (int n = 3; n < 1024; n++) {
		ssize_t len;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, n);
		len = readlink(path, name, sizeof(name) - 1);
		name[len > 0 ? len : 0] = 0;
		if (strncmp(name, "/memfd:pcl ", 11))
			continue;
		fd = open(path, O_RDWR);
		return fd >= 0 && (fcntl(fd, F_GET_SEALS) & seals) == seals && !fstat(fd, &st) && !(st.st_mode & 077) &&
		       ftruncate(fd, 0);
	}
	return false;
}

static int judge(char **argv, const char *self, bool is_storm)
{
	bool bad = false;
	pid_t pid[256];
	int n;

	map_file(argv[2]);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!fork()) {
		execl(argv[1], argv[1], "--users=any", self, "session", argv[2], argv[3], argv[4],
		      argv[4] ? argv[5] : NULL, NULL);
		_exit(127);
	}
	for (int i = 0; i < 250 && !shared->pid[MEMBERS + 1]; i++)
		nap(2);
	if (shared->pid[MEMBERS + 1] && !is_sealed(shared->pid[MEMBERS + 1])) {
		printf("the session's memory is not sealed\n");
		bad = true;
	}
	for (int i = 0; i < 1000 && shared->written < PASSES; i++) {
		nap(20);
		(void)children(pid, 256);
		if (is_gone(shared->pid[MEMBERS + 1]) && shared->pid[MEMBERS + 1])
			break;
		if (is_gone(shared->pid[MEMBERS]) && shared->pid[MEMBERS])
			break;
	}
	for (uint64_t end = now_ms() + STORM_MS; is_storm && now_ms() < end && !is_gone(shared->pid[MEMBERS + 1]);)
		nap(20);
	nap(is_storm ? 50 : 500);
	printf("%lu pages, pass %u, rounds:", shared->pages, shared->written);
	for (int i = 0; i < MEMBERS; i++)
		printf(" %lu", shared->beats[i]);
	printf("\n");
	shared->stop = 1;
	for (int i = 0; i < END_SECONDS * 50 && children(pid, 1); i++)
		nap(20);
	for (; (n = children(pid, 256)); nap(20)) {
		bad = true;
		for (int i = 0; i < n; i++) {
			show(pid[i]);
			kill(pid[i], SIGKILL);
		}
	}
	if (shared->changed)
		printf("a member's registers or memory changed\n");
	if (shared->reached)
		printf("a member went where it was pointed\n");
	if (!shared->pages || !shared->written)
		printf("nothing was written\n");
	return bad || shared->reached || shared->changed || !shared->pages || !shared->written;
}

static bool has_word(char **word, const char *which)
{
	while (*word && strcmp(*word, which))
		word++;
	return *word;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "session"))
		return session(argv[2], atoi(argv[3]), has_word(argv + 4, "plain"), has_word(argv + 4, "storm"));
	if (argc < 4)
		return 2;
	return judge(argv, argv[0], has_word(argv + 4, "storm"));
}
