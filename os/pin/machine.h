/*
 * What a machine says of its memory and its load: the texts of files, and sysinfo(2). All of it is made up, so that it
 * is the same everywhere: 8 GiB, half of them free, no swap, nothing to do.
 */
#ifndef OS_PIN_MACHINE_H
#define OS_PIN_MACHINE_H

#include "os/pin/pin.h"

pin_handler pin_sysinfo;

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
