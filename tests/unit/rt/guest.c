/* Guest copies: sizes, faults at page ends, the fixup range. The fault handler here does what the runtime's does. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "rt/guest.h"
#include "tests/unit/unit.h"

static int faults;

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	ucontext_t *context = uc;
	u64 next = guest_fault_fixup((u64)context->uc_mcontext.gregs[REG_RIP]);

	if (!next)
		_Exit(3);
	faults++;
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)next;
}

/* Two accessible pages with an inaccessible one on each side. */
static char *island(void)
{
	char *p = mmap(NULL, 4 * PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + PAGE_SIZE, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE);
	return p + PAGE_SIZE;
}

static void test_copies(char *page)
{
	char *end = page + 2 * PAGE_SIZE;
	unsigned char buf[600], want[600];

	for (size_t i = 0; i < 2 * PAGE_SIZE; i++)
		page[i] = (char)(i * 13 + i / 256);
	for (size_t n = 0; n < 400; n++) {
		memset(buf, 0xee, sizeof(buf));
		memset(want, 0xee, sizeof(want));
		memcpy(want, end - n, n);
		expect_long(guest_read(buf, (gva)(end - n), n), 0);
		expect(!memcmp(buf, want, sizeof(buf)));
		expect_long(guest_write((gva)(page + 11), buf, n), 0);
		expect(!memcmp(page + 11, buf, n));
	}
	expect_long(faults, 0);
}

static void test_faults(char *page)
{
	char *end = page + 2 * PAGE_SIZE;
	char buf[600] = {0};

	for (size_t n = 1; n < 400; n++) {
		faults = 0;
		expect_long(guest_read(buf, (gva)(end - n + 1), n), -EFAULT);
		expect_long(guest_write((gva)(end - n + 1), buf, n), -EFAULT);
		expect_long(guest_write((gva)(page - 1), buf, n), -EFAULT);
		expect_long(faults, 3);
	}
	expect_long(guest_read(buf, 0, 8), -EFAULT);
	expect_long(guest_read(buf, 0xffffffff80000000ul, 200), -EFAULT);
	expect_long(guest_read(buf, 0x8000000000000000ul, 8), -EFAULT);
	expect_long(guest_read(buf, 0, 0), 0);
	expect(!guest_fault_fixup((u64)test_faults));
	expect(!guest_fault_fixup(0));
}

static void test_strings(char *page)
{
	char *end = page + 2 * PAGE_SIZE;
	char buf[300];

	memset(page, 'a', 2 * PAGE_SIZE);
	end[-1] = 0;
	expect_long(guest_read_str(buf, (gva)(end - 1), sizeof(buf)), 0);
	for (size_t n = 1; n < sizeof(buf); n++) {
		expect_long(guest_read_str(buf, (gva)(end - n - 1), sizeof(buf)), n);
		expect(strlen(buf) == n && buf[0] == 'a' && buf[n - 1] == 'a');
	}
	expect_long(guest_read_str(buf, (gva)(end - 5), 5), 4);
	expect_long(guest_read_str(buf, (gva)(end - 5), 4), -ENAMETOOLONG);
	expect_str(buf, "aaa");
	expect_long(guest_read_str(buf, (gva)page, sizeof(buf)), -ENAMETOOLONG);
	expect_long(guest_read_str(buf, (gva)page, 0), -ENAMETOOLONG);
	end[-1] = 'a';
	expect_long(guest_read_str(buf, (gva)(end - 7), sizeof(buf)), -EFAULT);
	expect_long(guest_read_str(buf, 8, sizeof(buf)), -EFAULT);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	char *page = island();

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	test_copies(page);
	test_faults(page);
	test_strings(page);
	return unit_result();
}
