/* Text that came from elsewhere, as arguments and names of files do, and may be any bytes. All results are to be freed.
 */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <json-c/json.h>

/* Bytes of the character of UTF-8 there, 0: it is none. */
size_t utf8_length(const char *text);

/* With U+FFFD for each byte that belongs to no character of UTF-8. */
char *utf8_repaired(const char *text);

/* In one line for a terminal: such bytes and control characters are escaped as in C (\n, \x1b). */
char *utf8_printable(const char *text);

/* The same of a JSON value, for people: valid JSON, whatever bytes its strings have. With a newline at the end. */
char *utf8_json(struct json_object *o);

#endif
