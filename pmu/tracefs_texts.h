/* Files of tracefs that are the same in every session, see tracefs.h. */
#ifndef PMU_TRACEFS_TEXTS_H
#define PMU_TRACEFS_TEXTS_H

extern const char tracefs_header_page[], tracefs_header_event[], tracefs_readme[];

#endif
