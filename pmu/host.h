/* What the hardware driver needs besides event/host.h. os/ implements it. May be called with event locks held. */
#ifndef PMU_HOST_H
#define PMU_HOST_H

#include "event/host.h"

struct bank; /* cpu/cpu.h */
struct cpu;

/* A task's counter bank, and the calling task's own side of it. NULL: the caller is no task. */
struct bank *host_task_bank(task_id task);
struct cpu *host_own_cpu(void);

#endif
