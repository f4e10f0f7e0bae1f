/*
 * What is refused where no memory may become executable, with the errno and what it left, in this process and in a
 * fork's child: prints it. Natively and under pcl the same. With the argument "set" the program sets PR_SET_MDWE
 * itself, and executes itself again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SET_MDWE 65
#define GET_MDWE 66
#define RW (PROT_READ | PROT_WRITE)
#define RX (PROT_READ | PROT_EXEC)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define PAGE 4096ul

static void say(const char *what, long failed)
{
	printf("%s: %s\n", what, failed ? strerrorname_np(errno) : "ok");
}

static char *map(const char *what, size_t len, int prot, int flags, int fd)
{
	char *p = mmap(NULL, len, prot, flags, fd, 0);

	say(what, p == MAP_FAILED);
	return p;
}

/* Permissions of the page as /proc/self/maps shows them. */
static void show_page(const char *what, const char *page)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], perms[8] = "none";
	unsigned long start, end;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 && start <= (unsigned long)page &&
		    (unsigned long)page < end)
			break;
		else
			strcpy(perms, "none");
	printf("%s: %s\n", what, perms);
	if (f)
		fclose(f);
}

static void try_mmap(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *p;

	map("rwx", PAGE, RW | PROT_EXEC, ANON, -1);
	map("wx", PAGE, PROT_WRITE | PROT_EXEC, ANON, -1);
	map("rwx shared", PAGE, RW | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1);
	map("rwx file", PAGE, RW | PROT_EXEC, MAP_PRIVATE, fd);
	map("rwx bad file", PAGE, RW | PROT_EXEC, MAP_PRIVATE, -1);
	map("rwx shared file", PAGE, RW | PROT_EXEC, MAP_SHARED, fd);
	map("rwx length 0", 0, RW | PROT_EXEC, ANON, -1);
	map("rwx no type", PAGE, RW | PROT_EXEC, MAP_ANONYMOUS, -1);
	map("rx file", PAGE, RX, MAP_PRIVATE, fd);
	map("rx", PAGE, RX, ANON, -1);
	p = map("rw", PAGE, RW, ANON, -1);
	strcpy(p, "kept");
	say("rwx over it", mmap(p, PAGE, RW | PROT_EXEC, ANON | MAP_FIXED, -1, 0) == MAP_FAILED);
	show_page("it", p);
	printf("%s\n", p);
	close(fd);
}

static void try_mprotect(void)
{
	char *p = mmap(NULL, 4 * PAGE, RW, ANON, -1, 0), *x = mmap(NULL, PAGE, RX, ANON, -1, 0);

	say("rw to rx", mprotect(p, PAGE, RX));
	say("rw to rwx", mprotect(p, PAGE, RW | PROT_EXEC));
	say("rw to x", mprotect(p, PAGE, PROT_EXEC));
	say("rw to rx, length 0", mprotect(p, 0, RX));
	say("rw to rx, not aligned", mprotect(p + 1, PAGE, RX));
	say("rw to rx, pkey", (int)syscall(SYS_pkey_mprotect, p, PAGE, RX, -1));
	say("rw to r", mprotect(p, PAGE, PROT_READ));
	say("r to rx", mprotect(p, PAGE, RX));
	show_page("it", p);
	munmap(p + 2 * PAGE, PAGE);
	say("hole, to rx", mprotect(p + 2 * PAGE, PAGE, RX));
	say("before a hole, to rx", mprotect(p + PAGE, 3 * PAGE, RX));
	if (x == MAP_FAILED)
		return;
	say("rx to rwx", mprotect(x, PAGE, RW | PROT_EXEC));
	say("rx to x", mprotect(x, PAGE, PROT_EXEC));
	say("x to rx", mprotect(x, PAGE, RX));
	say("rx to rw", mprotect(x, PAGE, RW));
	say("and back", mprotect(x, PAGE, RX));
	show_page("it", x);
}

/* Executable code, then data that is to become so: what comes before the refusal has changed. */
static void try_both(void)
{
	char *p = mmap(NULL, 2 * PAGE, RX, ANON, -1, 0);

	if (p == MAP_FAILED)
		return;
	say("data behind code", mmap(p + PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED);
	say("both to x", mprotect(p, 2 * PAGE, PROT_EXEC));
	show_page("code", p);
	show_page("data", p + PAGE);
}

static void try_shm(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0700);

	say("shmat, executable", shmat(id, NULL, SHM_EXEC) == (void *)-1);
	say("shmat, executable and read-only", shmat(id, NULL, SHM_EXEC | SHM_RDONLY) == (void *)-1);
	say("shmat", shmat(id, NULL, 0) == (void *)-1);
	say("shmat of nothing, executable", shmat(-1, NULL, SHM_EXEC) == (void *)-1);
	shmctl(id, IPC_RMID, NULL);
}

static void try_all(void)
{
	try_mmap();
	try_mprotect();
	try_both();
	try_shm();
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "set")) {
		try_all();
		say("PR_SET_MDWE", prctl(SET_MDWE, 1, 0, 0, 0));
	}
	printf("PR_GET_MDWE %d\n", prctl(GET_MDWE, 0, 0, 0, 0));
	try_all();
	if (!fork()) {
		printf("child\n");
		try_all();
		_exit(0);
	}
	wait(NULL);
	if (argc > 1 && !strcmp(argv[1], "set")) {
		execl("/proc/self/exe", argv[0], NULL);
		perror("exec");
	}
	return 0;
}
