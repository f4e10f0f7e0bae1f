/* The arena's mappings in a member: tables, ring buffers and journals, each at the same place in all of them. */
#ifndef OS_SESSION_MAP_H
#define OS_SESSION_MAP_H

/* From the arena's descriptor. 0, or -errno. */
int map_arena(int arena_fd);
/* The same in place of the one that is mapped. */
int map_arena_again(int arena_fd);

#endif
