/* See utf8.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/types.h"
#include "cli/memory.h"
#include "cli/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* As table 3-7 of the Unicode standard has them. */
size_t utf8_length(const char *text)
{
	const u8 *s = (const u8 *)text;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	u8 least = s[0] == 0xe0	  ? 0xa0
		   : s[0] == 0xf0 ? 0x90
				  : 0x80,
	   most = s[0] == 0xed	 ? 0x9f
		  : s[0] == 0xf4 ? 0x8f
				 : 0xbf;

	if (n > 1 && (s[1] < least || s[1] > most))
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

char *utf8_repaired(const char *text)
{
	char *out = memory_zeroed(strlen(text) * strlen(REPLACEMENT) + 1, 1), *to = out;

	while (*text) {
		size_t n = utf8_length(text);

		if (n)
			to = mempcpy(to, text, n);
		else
			to = mempcpy(to, REPLACEMENT, strlen(REPLACEMENT));
		text += n ? n : 1;
	}
	return out;
}

/* Of C0, delete, and of C1, which some terminals obey too. */
static bool is_control(const char *text)
{
	const u8 *s = (const u8 *)text;

	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

char *utf8_printable(const char *text)
{
	static const char named[] = "\n\t\r", letter[] = "ntr";
	char *out = memory_zeroed(strlen(text) * strlen("\\xff") + 1, 1), *to = out;

	while (*text) {
		size_t n = utf8_length(text);
		const char *name = strchr(named, *text);

		if (n && !is_control(text)) {
			to = mempcpy(to, text, n);
			text += n;
		} else if (name) {
			to += sprintf(to, "\\%c", letter[name - named]);
			text++;
		} else {
			to += sprintf(to, "\\x%02x", (u8)*text++);
		}
	}
	return out;
}

/* Outside of strings JSON is ASCII. */
char *utf8_json(struct json_object *o)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;
	char *text = utf8_repaired(json_object_to_json_string_ext(o, flags));
	size_t len = strlen(text);

	text = memory_resize(text, len + sizeof("\n"), 1);
	strcpy(text + len, "\n");
	return text;
}
