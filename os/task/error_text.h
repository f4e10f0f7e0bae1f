/* What the message says about a program that cannot be loaded. */
#ifndef OS_ERROR_TEXT_H
#define OS_ERROR_TEXT_H

/* Text of an error number as strerror(3) has it, for those that starting a program gives. */
const char *error_text(int err);

#endif
