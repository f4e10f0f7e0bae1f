/* The exit status where pcl itself fails: of the launcher, and of a guest process that cannot go on. doc/ci.md */
#ifndef RT_STATUS_H
#define RT_STATUS_H

#define PCL_FAILED 125

#endif
