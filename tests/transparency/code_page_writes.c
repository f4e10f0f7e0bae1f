/*
 * What the kernel writes into pages that are executed from: at the end of a thread, the futexes of its robust list and
 * the word of set_tid_address; what process_vm_writev(2) is given for the caller's own memory.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096

/* One page: code in front, behind it what the kernel is to write. */
struct code_page {
	unsigned char code[64];
	struct lock {
		struct robust_list next;
		uint32_t futex;
	} lock[3]; /* the last one is being taken */
	uint32_t tid;
};

static struct code_page *page;

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* mov $n, %eax; ret */
static void put_code(unsigned char *at, unsigned char n)
{
	memcpy(at, (unsigned char[]){0xb8, n, 0, 0, 0, 0xc3}, 6);
}

static int run(const void *at)
{
	return ((int (*)(void))at)();
}

static void *ends_with_locks(void *arg)
{
	struct robust_list_head head = {
		.list = {&page->lock[0].next},
		.futex_offset = offsetof(struct lock, futex),
		.list_op_pending = &page->lock[2].next,
	};

	page->lock[0].next.next = &page->lock[1].next;
	page->lock[1].next.next = &head.list;
	for (int i = 0; i < 3; i++)
		page->lock[i].futex = (uint32_t)gettid();
	syscall(SYS_set_robust_list, &head, sizeof(head));
	run(page->code);
	syscall(SYS_exit, 0);
	return NULL;
}

static void *ends_with_tid(void *arg)
{
	page->tid = (uint32_t)syscall(SYS_set_tid_address, &page->tid);
	run(page->code);
	syscall(SYS_exit, 0);
	return NULL;
}

static void wait_for(const uint32_t *word, uint32_t bit, uint32_t value)
{
	for (int ms = 0; (__atomic_load_n(word, __ATOMIC_ACQUIRE) & bit) != value && ms < 5000; ms++)
		usleep(1000);
}

static void ends(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ends_with_locks, NULL);
	wait_for(&page->lock[2].futex, FUTEX_OWNER_DIED, FUTEX_OWNER_DIED);
	for (int i = 0; i < 3; i++)
		printf("futex %d: %x\n", i, page->lock[i].futex);
	page->tid = 1;
	pthread_create(&thread, NULL, ends_with_tid, NULL);
	wait_for(&page->tid, ~0u, 0);
	printf("tid: %x\n", page->tid);
}

/* From the end of a page into one that is executed from. */
static void writes_itself(void)
{
	unsigned char *two = map(2 * PAGE), text[14];
	struct iovec from = {text, sizeof(text)}, to = {two + PAGE - 8, sizeof(text)};

	put_code(two + PAGE, 3);
	printf("%d\n", run(two + PAGE));
	memset(text, 0x90, sizeof(text));
	put_code(text + 8, 4);
	printf("written %ld\n", (long)process_vm_writev(getpid(), &from, 1, &to, 1, 0));
	printf("%d\n", run(two + PAGE - 8));
	printf("%d\n", run(two + PAGE));
}

int main(void)
{
	page = map(PAGE);
	put_code(page->code, 1);
	ends();
	writes_itself();
	return 0;
}
