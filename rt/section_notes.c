/* What a section notes: the old values of what it stores to, and what it puts off. See section.h. */
#include "rt/log.h"
#include "rt/section.h"

static void overfull(const char *what, u64 most)
{
	log_printf(0, "a change of the session is too large: more than %lu %s in one section", most, what);
	check(!"the journal is full");
}

/* Only who has the lock may use what is there once. */
static bool is_long(void)
{
	return section_host.long_lock && slock_is_held(section_host.long_lock);
}

static __attribute__((noinline)) struct section_note *long_note(u32 n)
{
	if (!is_long() || n - SECTION_NOTES >= SECTION_LONG_NOTES)
		overfull("stores", SECTION_NOTES + (is_long() ? SECTION_LONG_NOTES : 0));
	return &section_host.longer->note[n - SECTION_NOTES];
}

static struct section_after *place_of_after(struct journal *j, u32 n)
{
	if (likely(n < SECTION_AFTERS))
		return &j->after[n];
	if (!is_long() || n - SECTION_AFTERS >= SECTION_LONG_AFTERS)
		overfull("things put off", SECTION_AFTERS + (is_long() ? SECTION_LONG_AFTERS : 0));
	return &section_host.longer->after[n - SECTION_AFTERS];
}

static inline __attribute__((always_inline)) void note(struct section *s, u64 at, u64 size, u64 old)
{
	struct journal *j = s->journal;
	u32 n = s->notes;
	struct section_note *to = likely(n < SECTION_NOTES) ? &j->note[n] : long_note(n);

	*to = (struct section_note){at | size << SECTION_SIZE_SHIFT, old};
	s->notes = n + 1;
	__atomic_store_n(&j->notes, n + 1, __ATOMIC_RELEASE);
}

#ifndef PCL_NO_NOTES /* a sanitizer has functions of these names */
#define NOTE(bits, bytes)                                                                                              \
	void __asan_store##bytes##_noabort(const u##bits *p);                                                          \
	void __asan_store##bytes##_noabort(const u##bits *p)                                                           \
	{                                                                                                              \
		u64 at = (u64)p - (u64)section_host.noted;                                                             \
		struct section *s;                                                                                     \
                                                                                                                       \
		if (at < section_host.noted_size && (s = section_self())->noting)                                      \
			note(s, at, bytes, *p);                                                                        \
	}

/* The names that the compiler calls before each store: it takes them for the kernel's address sanitizer. */
NOTE(8, 1)
NOTE(16, 2)
NOTE(32, 4)
NOTE(64, 8)

void __asan_storeN_noabort(const void *p, u64 size);
void __asan_storeN_noabort(const void *p, u64 size)
{
	section_note(p, size);
}

void __asan_store16_noabort(const void *p);
void __asan_store16_noabort(const void *p)
{
	section_note(p, 16);
}

void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
}
#endif

void section_note(const void *p, u64 size)
{
	struct section *s = section_self();
	u64 at = (u64)p - (u64)section_host.noted;
	const char *from = p;

	if (at >= section_host.noted_size || !s->noting)
		return;
	for (; size >= 8; size -= 8, at += 8, from += 8)
		note(s, at, 8, *(const u64 *)from);
	for (; size; size--, at++, from++)
		note(s, at, 1, *(const u8 *)from);
}

void section_after(u32 kind, u32 arg, u64 value)
{
	struct section *s = section_self();
	struct journal *j = s->journal;
	u32 n;

	if (!s->open || s->after) {
		section_host.after(kind, arg, value, true);
		return;
	}
	n = s->afters;
	if (n) {
		const struct section_after *last = place_of_after(j, n - 1);

		if (last->kind == kind && last->arg == arg && last->value == value)
			return;
	}
	*place_of_after(j, n) = (struct section_after){kind, arg, value};
	s->afters = n + 1;
	__atomic_store_n(&j->afters, n + 1, __ATOMIC_RELEASE);
}
