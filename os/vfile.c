/* Virtual files: see vfile.h. */
#include "os/process.h"
#include "os/vfile.h"

bool vfile_fd_hidden(const struct thread *t, int fd)
{
	return fd == the_process.runtime_fd || fd == the_process.runtime_fd + 1;
}

bool vfile_follow_exe(struct thread *t, char *path)
{
	return false;
}
