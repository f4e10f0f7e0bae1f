/*
 * munmap, mprotect, mremap and MAP_FIXED over every range of six pages, of which the two in the middle are an event's
 * ring buffer: what each answers, and what is mapped afterwards.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 6
#define RING_AT 2
#define RW (PROT_READ | PROT_WRITE)

static int event = -1;
static char *room, *elsewhere; /* each with a page of nobody's around it */

/* Older kernels cut rings, or move one mapping at a time. */
static void check_kernel(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 6 || (major == 6 && minor >= 17))
		return;
	printf("mremap of several mappings is as here since Linux 6.17\n");
	exit(77);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static char *keep_room(void)
{
	char *at = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "mmap");
	return at + PAGE;
}

/* Pages around the ring are private, with different protections so that none joins what is around. */
static void lay_out(void)
{
	check(mmap(room, PAGES * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == room, "layout");
	check(mmap(room + RING_AT * PAGE, 2 * PAGE, RW, MAP_SHARED | MAP_FIXED, event, 0) == room + RING_AT * PAGE,
	      "ring");
	check(mmap(elsewhere, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == elsewhere,
	      "room");
}

/* The ring may have moved, or parts of it. */
static void clear(void)
{
	munmap(room, PAGES * PAGE);
	munmap(elsewhere, PAGES * PAGE);
}

static void show_pages(const char *at)
{
	unsigned char vec;

	putchar(' ');
	for (int i = 0; i < PAGES; i++) {
		const struct perf_event_mmap_page *page = (const void *)(at + (unsigned long)i * PAGE);
		int there = !mincore((void *)page, PAGE, &vec), fds[2];
		char buf;

		/* The first page of the ring says so; what cannot be read is told by write(2). */
		if (pipe(fds))
			exit(1);
		if (!there)
			putchar('-');
		else if (write(fds[1], page, 1) != 1)
			putchar('x');
		else
			putchar(page->data_size == PAGE ? 'R' : read(fds[0], &buf, 1) == 1 ? '.' : '?');
		close(fds[0]);
		close(fds[1]);
	}
}

static const char *place(const void *at)
{
	static char text[32];
	unsigned long in = (unsigned long)at - (unsigned long)room, out = (unsigned long)at - (unsigned long)elsewhere;

	if (at == MAP_FAILED)
		return strerrorname_np(errno);
	if (in < PAGES * PAGE)
		snprintf(text, sizeof(text), "room+%lu", in / PAGE);
	else if (out < PAGES * PAGE)
		snprintf(text, sizeof(text), "elsewhere+%lu", out / PAGE);
	else
		return "another place";
	return text;
}

static void result(const char *what, int start, int len, int new_len, const void *at)
{
	printf("%s %d %d %d: %s", what, start, len, new_len, place(at));
	if (at != MAP_FAILED && strcmp(place(at), "another place") == 0)
		munmap((void *)at, (unsigned long)new_len * PAGE);
	show_pages(room);
	show_pages(elsewhere);
	putchar('\n');
	clear();
}

static void try_remap(int start, int len, int new_len)
{
	static const struct {
		const char *name;
		int flags;
	} how[] = {{"mremap", 0}, {"mremap may move", MREMAP_MAYMOVE}, {"mremap fixed", MREMAP_MAYMOVE | MREMAP_FIXED}};
	char *at = room + (unsigned long)start * PAGE;

	for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		lay_out();
		result(how[i].name, start, len, new_len,
		       mremap(at, (unsigned long)len * PAGE, (unsigned long)new_len * PAGE, how[i].flags, elsewhere));
	}
}

static void try_range(int start, int len)
{
	char *at = room + (unsigned long)start * PAGE;
	unsigned long size = (unsigned long)len * PAGE;

	lay_out();
	result("munmap", start, len, 0, munmap(at, size) ? MAP_FAILED : at);
	lay_out();
	result("mprotect", start, len, 0, mprotect(at, size, PROT_NONE) ? MAP_FAILED : at);
	lay_out();
	result("mmap", start, len, 0, mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	for (int new_len = 1; new_len <= PAGES; new_len++)
		try_remap(start, len, new_len);
}

int main(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1};

	check_kernel();
	room = keep_room();
	elsewhere = keep_room();
	event = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	check(event >= 0, "perf_event_open");
	for (int start = 0; start < PAGES; start++)
		for (int len = 1; start + len <= PAGES; len++)
			try_range(start, len);
	return 0;
}
