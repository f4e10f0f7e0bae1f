/* pcl --why: what was refused to programs, and why. */
#ifndef CLI_WHY_H
#define CLI_WHY_H

/* path: where why_print() shall write, "" for standard error, else as for output_open(). 0, or -1 after a message. */
int why_open(const char *path);

/* Prints the refusals of the session that this process has made, each kind once. 0, or -1 after a message. */
int why_print(void);

#endif
