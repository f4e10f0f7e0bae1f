/* See error_text.h. */
#include "os/task/error_text.h"
#include <asm/errno.h>

const char *error_text(int err)
{
	switch (err) {
	case ENOENT:
		return "No such file or directory";
	case EACCES:
		return "Permission denied";
	case ENOEXEC:
		return "Exec format error";
	case ELIBBAD:
		return "Accessing a corrupted shared library";
	case ENOMEM:
		return "Cannot allocate memory";
	case ENOTDIR:
		return "Not a directory";
	case ELOOP:
		return "Too many levels of symbolic links";
	case EISDIR:
		return "Is a directory";
	case EMFILE:
		return "Too many open files";
	case EIO:
		return "Input/output error";
	case EINVAL:
		return "Invalid argument";
	case EFAULT:
		return "Bad address";
	case EEXIST:
		return "File exists";
	}
	return "cannot be loaded";
}
