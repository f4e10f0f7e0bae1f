#ifndef CPU_NONE_REGS_H
#define CPU_NONE_REGS_H

#define CPU_GPRS 16
#define STOLEN 3
#define REG_SP 15
#define REG_NUMBER 8
#define REG_ARGS 0, 1, 2, 3, 4, 5
#define REG_RESULT 0
#define REG_NAMES "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"

#define FLAGS_FIXED 0ul
#define FLAGS_STEP 1ul
#define FLAGS_RESUME 2u

#define USER_REGS 18
#define GREG_PC 16
#define GREG_SP 15
#define GREG_FLAGS 17
#define GREG_ARG 0
#define GREG_RESULT 0
#define GREG_NR 18

static inline unsigned greg_of(unsigned reg)
{
	return reg;
}

#endif
