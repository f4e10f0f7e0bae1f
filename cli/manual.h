/* The manual pages, in man(7) form, from the tables of options, commands and events. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

/* page: "" for pcl(1), "events" for pcl-events(7). Returns an exit status. */
int manual_print(const char *page);

#endif
