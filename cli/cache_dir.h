/*
 * The directory that images of translations are kept in, see doc/warm-start.md: --cache-dir, or
 * $XDG_CACHE_HOME/pcl, or $HOME/.cache/pcl. It is made if need be, but not in another user's, and not a HOME that is
 * missing. It is used only if it is the user's, and nobody else can look into it.
 */
#ifndef CLI_CACHE_DIR_H
#define CLI_CACHE_DIR_H

#include "abi/types.h"
#include "cli/options.h"

/* Its descriptor; -1: there is none, or it is not to be used, which is told with --cache-dir, and from --log=1 on.
 */
int cache_dir_open(const struct options *o);

/* What of options and processor an image depends on; not 0. */
u64 cache_settings(const struct options *o);

#endif
