/* The line that --strace prints for one system call. */
#ifndef SHOW_SYSCALL_H
#define SHOW_SYSCALL_H

#include "abi/types.h"

struct show_call {
	const char *name;    /* from os/x86_64/syscalls.def; NULL: a number that the table does not have */
	const char *formats; /* from the same row; see the head of os/x86_64/syscalls.def. NULL only if name is */
	long nr;
	const u64 *args;     /* six */
	long result;	     /* value or -errno */
	bool unfinished;     /* the call does not return (exit, a successful execve) or has not yet: "= ?" */
	const char *why;     /* reason of the refusal, or NULL */

	/* Reading the guest's memory; as guest_read() and guest_read_str() of rt/guest.h. */
	int (*read)(void *dst, gva src, size_t n);
	long (*read_str)(char *dst, gva src, size_t size);

	bool abi_2009; /* the interface of 2009 is there */
};

/*
 * Writes one line without a newline, e.g. openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3. Returns its length.
 */
size_t show_syscall(char *buf, size_t size, const struct show_call *call);

/* Appends bytes as a C string literal with its quotes; "..." after it if cut. Returns the new end, as rt_append. */
size_t show_quoted(char *buf, size_t size, size_t at, const char *bytes, size_t len, bool cut);

#endif
