/*
 * The guest's execve.
 *
 * An exec is one of the kernel's: the runtime executes itself by descriptor with the guest's argv and environment, so
 * close-on-exec, the end of other threads, signal dispositions and timers are the kernel's work. Everything that Linux
 * refuses before its point of no return is refused before that, with the guest's program still running. Scripts are
 * resolved before, too: the kernel only ever sees the argv of the final program. The opened program goes to the new
 * image as a descriptor (os/session/handover.h), which closes it before the guest runs.
 *
 * Not supported: set-user-ID and set-group-ID bits and file capabilities (ignored, as under a tracer), programs that
 * may be executed but not read (EACCES), ETXTBSY for programs that are open for writing.
 */
#ifndef OS_EXEC_H
#define OS_EXEC_H

#include "os/session/thread.h"

/*
 * The session's first program is open at fd: if it is a script, its interpreter is executed instead. Returns 0 if it is
 * none, or why that failed. argv and envp, of envc strings, are arrays in this image's memory.
 */
long exec_first_script(struct thread *t, int fd, const u64 *argv, const u64 *envp, u64 envc);

#endif
