/*
 * For programs that may be run by pcl: are they, and which part of them is to be counted.
 *
 *	pcl --regions count -- ./program
 *	pcl --regions check --baseline counts.json -- ./program
 *
 * count only what all threads and child processes do between pcl_region_begin() and pcl_region_end(). Regions do not
 * nest: the first end ends it. perf does the same with its events disabled at first: pcl --regions perf stat -D -1.
 * Without --regions, and without pcl, the functions do nothing. There is nothing to link with.
 *
 * They are a prctl(2) of a number that Linux does not know and answers by EINVAL; it is asked once.
 */
#ifndef PCL_SESSION_H
#define PCL_SESSION_H

#include <errno.h>
#include <sys/prctl.h>

#define PCL_PRCTL	  0x70636c32 /* "pcl2" */
#define PCL_PRCTL_STATE	  0	     /* returns PCL_STATE_... */
#define PCL_PRCTL_BEGIN	  1
#define PCL_PRCTL_END	  2
#define PCL_STATE_SESSION 1 /* set in every session of pcl */
#define PCL_STATE_REGIONS 2 /* --regions was given */

#ifdef __cplusplus
extern "C" {
#endif

/* Of this process, 0 natively. */
static inline int pcl_state(void)
{
	static int known = -1;
	int kept = errno;

	if (known < 0) {
		known = prctl(PCL_PRCTL, PCL_PRCTL_STATE, 0, 0, 0);
		known = known > 0 ? known : 0;
		errno = kept;
	}
	return known;
}

/* 1: this program is run by pcl. */
static inline int pcl_is_here(void)
{
	return !!(pcl_state() & PCL_STATE_SESSION);
}

/* From here on events count. */
static inline void pcl_region_begin(void)
{
	if (pcl_state() & PCL_STATE_REGIONS)
		prctl(PCL_PRCTL, PCL_PRCTL_BEGIN, 0, 0, 0);
}

/* From here on they do not. */
static inline void pcl_region_end(void)
{
	if (pcl_state() & PCL_STATE_REGIONS)
		prctl(PCL_PRCTL, PCL_PRCTL_END, 0, 0, 0);
}

#ifdef __cplusplus
}
#endif

#endif
