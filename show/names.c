/* Names of the kernel's constants; see names.h. Errors: include/uapi/asm-generic/errno*.h; signals: asm/signal.h. */
#include <asm/errno.h>
#include <asm/signal.h>
#include "rt/fmt.h"
#include "show/names.h"

#define E(name) [name] = #name
static const char *const errno_names[] = {
	E(EPERM), E(ENOENT), E(ESRCH), E(EINTR), E(EIO), E(ENXIO), E(E2BIG), E(ENOEXEC), E(EBADF), E(ECHILD), E(EAGAIN),
	E(ENOMEM), E(EACCES), E(EFAULT), E(ENOTBLK), E(EBUSY), E(EEXIST), E(EXDEV), E(ENODEV), E(ENOTDIR), E(EISDIR),
	E(EINVAL), E(ENFILE), E(EMFILE), E(ENOTTY), E(ETXTBSY), E(EFBIG), E(ENOSPC), E(ESPIPE), E(EROFS), E(EMLINK),
	E(EPIPE), E(EDOM), E(ERANGE), E(EDEADLK), E(ENAMETOOLONG), E(ENOLCK), E(ENOSYS), E(ENOTEMPTY), E(ELOOP),
	E(ENOMSG), E(EIDRM), E(ECHRNG), E(EL2NSYNC), E(EL3HLT), E(EL3RST), E(ELNRNG), E(EUNATCH), E(ENOCSI), E(EL2HLT),
	E(EBADE), E(EBADR), E(EXFULL), E(ENOANO), E(EBADRQC), E(EBADSLT), E(EBFONT), E(ENOSTR), E(ENODATA), E(ETIME),
	E(ENOSR), E(ENONET), E(ENOPKG), E(EREMOTE), E(ENOLINK), E(EADV), E(ESRMNT), E(ECOMM), E(EPROTO), E(EMULTIHOP),
	E(EDOTDOT), E(EBADMSG), E(EOVERFLOW), E(ENOTUNIQ), E(EBADFD), E(EREMCHG), E(ELIBACC), E(ELIBBAD), E(ELIBSCN),
	E(ELIBMAX), E(ELIBEXEC), E(EILSEQ), E(ERESTART), E(ESTRPIPE), E(EUSERS), E(ENOTSOCK), E(EDESTADDRREQ),
	E(EMSGSIZE), E(EPROTOTYPE), E(ENOPROTOOPT), E(EPROTONOSUPPORT), E(ESOCKTNOSUPPORT), E(EOPNOTSUPP),
	E(EPFNOSUPPORT), E(EAFNOSUPPORT), E(EADDRINUSE), E(EADDRNOTAVAIL), E(ENETDOWN), E(ENETUNREACH), E(ENETRESET),
	E(ECONNABORTED), E(ECONNRESET), E(ENOBUFS), E(EISCONN), E(ENOTCONN), E(ESHUTDOWN), E(ETOOMANYREFS),
	E(ETIMEDOUT), E(ECONNREFUSED), E(EHOSTDOWN), E(EHOSTUNREACH), E(EALREADY), E(EINPROGRESS), E(ESTALE),
	E(EUCLEAN), E(ENOTNAM), E(ENAVAIL), E(EISNAM), E(EREMOTEIO), E(EDQUOT), E(ENOMEDIUM), E(EMEDIUMTYPE),
	E(ECANCELED), E(ENOKEY), E(EKEYEXPIRED), E(EKEYREVOKED), E(EKEYREJECTED), E(EOWNERDEAD), E(ENOTRECOVERABLE),
	E(ERFKILL), E(EHWPOISON), [512] = "ERESTARTSYS", [513] = "ERESTARTNOINTR", [514] = "ERESTARTNOHAND",
	[516] = "ERESTART_RESTARTBLOCK",
};

static const char *const signal_names[] = {
	E(SIGHUP), E(SIGINT), E(SIGQUIT), E(SIGILL), E(SIGTRAP), E(SIGABRT), E(SIGBUS), E(SIGFPE), E(SIGKILL),
	E(SIGUSR1), E(SIGSEGV), E(SIGUSR2), E(SIGPIPE), E(SIGALRM), E(SIGTERM), E(SIGSTKFLT), E(SIGCHLD), E(SIGCONT),
	E(SIGSTOP), E(SIGTSTP), E(SIGTTIN), E(SIGTTOU), E(SIGURG), E(SIGXCPU), E(SIGXFSZ), E(SIGVTALRM), E(SIGPROF),
	E(SIGWINCH), E(SIGIO), E(SIGPWR), E(SIGSYS),
	"SIGRT_0", "SIGRT_1", "SIGRT_2", "SIGRT_3", "SIGRT_4", "SIGRT_5", "SIGRT_6", "SIGRT_7", "SIGRT_8", "SIGRT_9",
	"SIGRT_10", "SIGRT_11", "SIGRT_12", "SIGRT_13", "SIGRT_14", "SIGRT_15", "SIGRT_16", "SIGRT_17", "SIGRT_18",
	"SIGRT_19", "SIGRT_20", "SIGRT_21", "SIGRT_22", "SIGRT_23", "SIGRT_24", "SIGRT_25", "SIGRT_26", "SIGRT_27",
	"SIGRT_28", "SIGRT_29", "SIGRT_30", "SIGRT_31", "SIGRT_32",
};
#undef E

const char *show_errno(int err)
{
	return err > 0 && err < ARRAY_SIZE(errno_names) ? errno_names[err] : NULL;
}

const char *show_signal(int signo)
{
	return signo > 0 && signo < ARRAY_SIZE(signal_names) ? signal_names[signo] : NULL;
}

size_t show_flags(char *buf, size_t size, size_t at, u64 value, const struct show_flag *table, const char *zero)
{
	const char *bar = "";

	if (!value)
		return rt_append(buf, size, at, "%s", zero);
	for (; table->name; table++) {
		if (!table->value || (value & table->value) != table->value)
			continue;
		at = rt_append(buf, size, at, "%s%s", bar, table->name);
		value &= ~table->value;
		bar = "|";
	}
	return value ? rt_append(buf, size, at, "%s%#lx", bar, value) : at;
}

const char *show_value(u64 value, const struct show_flag *table)
{
	for (; table->name; table++)
		if (table->value == value)
			return table->name;
	return NULL;
}
