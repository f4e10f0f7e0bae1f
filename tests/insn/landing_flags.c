/*
 * Flags that are live at the target of an indirect branch, where other targets have the same low 16 bits: first when
 * nobody has gone there before, then when others have come between.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STRIDE	0x10000u
#define READERS 64u /* as many as there are combinations of the six status flags */
#define CLEARS	16u
#define AT	0x140u

static const uint32_t status[6] = {0x001, 0x004, 0x010, 0x040, 0x080, 0x800};
static const uint8_t read_flags[] = {0x9c, 0x58, 0xc3};	 /* pushf; pop %rax; ret */
static const uint8_t clear_flags[] = {0x31, 0xc0, 0xc3}; /* xor %eax, %eax; ret */
/* Calls or jumps to rdi with the flags rsi, and returns rax. */
static const uint8_t by_call[] = {0x56, 0x9d, 0xff, 0xd7, 0xc3}; /* push %rsi; popf; call *%rdi; ret */
static const uint8_t by_jump[] = {0x56, 0x9d, 0xff, 0xe7};	  /* push %rsi; popf; jmp *%rdi */
/* push %rdi; push %rsi; popf; ret */
static const uint8_t by_return[] = {0x57, 0x56, 0x9d, 0xc3};

static uint8_t *code;

static void *place(uint32_t nr, const uint8_t *bytes, size_t n)
{
	return memcpy(code + nr * STRIDE + AT, bytes, n);
}

static uint64_t flags_of(uint32_t combination)
{
	uint64_t flags = 0x202;

	for (uint32_t i = 0; i < 6; i++)
		if (combination >> i & 1)
			flags |= status[i];
	return flags;
}

static int try_all(uint64_t (*go)(void *to, uint64_t flags), const char *how)
{
	int failures = 0;

	for (uint32_t i = 0; i < READERS; i++) {
		uint64_t flags = flags_of(i), got = go(code + (CLEARS + i) * STRIDE + AT, flags);

		if ((got & 0x8d5) != (flags & 0x8d5)) {
			printf("by %s to %u: flags %#lx, not %#lx\n", how, i, got, flags);
			failures++;
		}
	}
	return failures;
}

int main(void)
{
	static const struct {
		const uint8_t *bytes;
		size_t size;
		const char *how;
	} ways[] = {{by_call, sizeof(by_call), "call"}, {by_jump, sizeof(by_jump), "jump"},
		    {by_return, sizeof(by_return), "return"}};
	int failures = 0;

	for (uint32_t w = 0; w < 3; w++) {
		size_t size = (CLEARS + READERS) * STRIDE;
		uint64_t (*go)(void *, uint64_t);

		code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == MAP_FAILED)
			return 1;
		for (uint32_t i = 0; i < CLEARS + READERS; i++)
			place(i, i < CLEARS ? clear_flags : read_flags, 3);
		go = (uint64_t(*)(void *, uint64_t))memcpy(code, ways[w].bytes, ways[w].size);
		mprotect(code, size, PROT_READ | PROT_EXEC);
		for (uint32_t i = 0; i < CLEARS / 2; i++)
			go(code + i * STRIDE + AT, 0x202);
		failures += try_all(go, ways[w].how);
		for (uint32_t i = CLEARS / 2; i < CLEARS; i++)
			go(code + i * STRIDE + AT, 0x202);
		failures += try_all(go, ways[w].how) + try_all(go, ways[w].how);
		munmap(code, size);
	}
	return failures != 0;
}
