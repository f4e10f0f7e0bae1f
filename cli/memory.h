/* Memory for what grows with the program under measurement. Where there is none, pcl ends with a message and its status
 * for that. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include <stddef.h>

/* As reallocarray(3), for at least one member; the caller frees. */
void *memory_resize(void *old, size_t nr, size_t size);
void *memory_zeroed(size_t nr, size_t size);
char *memory_text(const char *text);

#endif
