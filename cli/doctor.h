/* pcl doctor: what this machine gives, what pcl adds, and what would fail and why. Each line is what a probe has just
 * seen. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

enum doctor_mark {
	DOCTOR_GOOD,
	DOCTOR_NOTE, /* this does not work or is restricted; pcl does not need it */
	DOCTOR_BAD,  /* pcl does not work with it */
};

/* Prints a line, and remembers whether one was bad. */
void doctor_say(enum doctor_mark mark, const char *subject, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Which perf there is, and whether it runs on this kernel and under pcl. self: the path of pcl. */
void doctor_perf(char *self);

/* argv[0] is "doctor". Returns 0 if pcl works here, 125 if not. */
int doctor_main(int argc, char **argv);

#endif
