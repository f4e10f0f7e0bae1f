/* pcl --probe: what this processor does well, and which forms of translated code that makes pcl choose. */
#ifndef CLI_FORMS_H
#define CLI_FORMS_H

/* Measures and prints. Returns the exit status. */
int forms_print(void);

#endif
