/* The integer names of the Linux UAPI, without the underscores. */
#ifndef ABI_TYPES_H
#define ABI_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/* An address in the guest's address space. Never dereferenced directly outside rt/guest.h. */
typedef u64 gva;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* Each argument is read once: memory that others write to at any moment is cut to size that way. */
#define MIN(a, b) ({ __auto_type min_a_ = (a); __auto_type min_b_ = (b); min_a_ < min_b_ ? min_a_ : min_b_; })
#define MAX(a, b) ({ __auto_type max_a_ = (a); __auto_type max_b_ = (b); max_a_ > max_b_ ? max_a_ : max_b_; })
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#define ALIGN_UP(x, a) ALIGN_DOWN((x) + (a)-1, a)
#define PAGE_SIZE 4096ul

#endif
