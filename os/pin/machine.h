/*
 * What a machine says of its memory and its load: the texts of files, and sysinfo(2). All of it is made up, so that it
 * is the same everywhere: 8 GiB, half of them free, no swap, nothing to do; and 16 MiB of each process are resident.
 */
#ifndef OS_PIN_MACHINE_H
#define OS_PIN_MACHINE_H

#include "os/pin/pin.h"

pin_handler pin_sysinfo;

/* What is resident of a process that has mapped so many bytes: which pages are is for the host to say. */
#define PIN_RESIDENT (16ul << 20)
static inline u64 pin_resident(u64 mapped)
{
	return mapped < PIN_RESIDENT ? mapped : PIN_RESIDENT;
}

/* As pin_file(): /proc/meminfo, /proc/stat, /proc/loadavg. */
size_t pin_meminfo(u32 part, char *buf);
size_t pin_stat(u32 part, char *buf);
size_t pin_loadavg(u32 part, char *buf);

/*
 * The file of a memory cgroup with that name, of either version: NULL, it is none that is held still. They say that
 * there is no limit, and nothing in use.
 */
const char *pin_cgroup_memory(const char *name);

#endif
