/* pcl list: the events that can be counted. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

int list_main(int argc, char **argv); /* argv[0] is "list"; returns the exit status */

#endif
