/*
 * Warm starts: which image of translations is mapped and trusted, and when one is written. See doc/warm-start.md
 * and dbt/warm.h.
 *
 * Images are files of the session's cache directory (CACHE_FD), which the launcher has opened. Whatever is wrong
 * with one, or with the directory, the program starts without: nothing here is ever an error that the guest could
 * notice.
 *
 *   os/mm/warm.c	     what the guest has mapped, and the life of an image in a process
 *   os/mm/warm_file.c  files: names, who may have written them, checksums, how many there are
 */
#ifndef OS_WARM_H
#define OS_WARM_H

#include "dbt/warm.h"
#include "os/session/process.h"

/*
 * A new program, open as fd, is about to be mapped; it is mapped, and what is to be counted from its first instruction
 * on is known: its image. `entry` is where the program itself begins, when its dynamic linker is done. Nobody shares
 * the table of descriptors.
 */
void warm_begin(int fd);
void warm_start(const struct cpu *cpu, gva entry);

/* A file that the guest maps part of, to execute it. False: it is not known well enough, or nobody wants to know. */
bool warm_identify(int fd, struct warm_file *out);

/* It is mapped now (with PROT_EXEC, privately, not to be written), or the vDSO. Under vma_lock(). */
void warm_mapped_locked(gva start, gva end, u64 offset, const struct warm_file *file);
void warm_vdso_locked(gva start, gva end);

/*
 * The guest has opened fd (or -errno), with these flags of open(2). Through /proc/PID/mem code can be written that its
 * mapping forbids to write, which nobody would notice.
 */
void warm_opened_for_writing(long fd);
static inline void warm_opened(long fd, u64 flags)
{
	if (unlikely(flags & 3) && fd >= 0 && the_process.config.warm_settings)
		warm_opened_for_writing(fd);
}

/* dbt_warm_new(), of what is mapped. */
u32 warm_new(u32 *before);

/* The program ends, or executes another one: whether an image is worth it. To be asked once. */
bool warm_wants_save(void);
/* Writes it. Nobody shares the table of descriptors, and no other thread runs translated code any more. */
void warm_save(void);

/* os/mm/warm_file.c */

/* Maps the image of that key at dbt_warm_place(), and has it loaded. False: there is none that can be used. */
bool warm_file_load(const struct warm_key *key, bool of_other);
void warm_file_remove(const struct warm_key *key);
/* What the session has missed of it; together with another image, if it has more images than there is room for. */
struct images_missed *warm_missed(const struct warm_key *key);
/* Another process has written one meanwhile that has half of what is new here. */
bool warm_file_is_there(const struct warm_key *key);
/* Writes one, unless there is such a one. */
void warm_file_write(struct warm_header *header);

#endif
