/* Completion of pcl's command line by bash, zsh and fish, from the tables of options and commands. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

/* shell: "bash", "zsh" or "fish". Returns an exit status. */
int completion_print(const char *shell);

#endif
