/* pcl list: the events that can be counted. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

int list_events(void); /* prints them; returns the exit status */

#endif
