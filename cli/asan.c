/*
 * What AddressSanitizer must leave alone in the launcher, which becomes the guest: after execve the kernel still knows
 * that the process once had an alternate signal stack, and signal frames show it. Not called but by the sanitizer.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "use_sigaltstack=0";
}
