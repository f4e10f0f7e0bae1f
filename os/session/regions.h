/*
 * Regions: the prctl(2) by which programs ask whether they run under pcl, and which part of them is to be counted. The
 * numbers are also in include/pcl/session.h, which programs take as it is, but for the last request's: that is pcl
 * count's.
 */
#ifndef OS_REGIONS_H
#define OS_REGIONS_H

#define REGIONS_PRCTL 0x70636c32

enum regions_request {
	REGIONS_STATE,
	REGIONS_BEGIN,
	REGIONS_END,
	REGIONS_LEAVERS, /* how many processes have been counted and have left the session (os/task/split.h) */
};

#define REGIONS_SESSION 1 /* in a state: this is a session of pcl */
#define REGIONS_WANTED	2 /* its events count in regions only */

#endif
