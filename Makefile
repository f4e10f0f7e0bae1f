# pcl: perf_event_open(2) in user space.
#
#   make            builds ./pcl (runs from the tree)
#   make help       these lines
#   make demo       installs what is missing, builds, runs the main job and explains it
#   make check      installs what is missing, builds, runs all tests
#   make bench      speed against native
#   make install    PREFIX=/usr/local DESTDIR=
#   make uninstall  takes away what make install put there, with the same PREFIX and DESTDIR
#   make tarball    a static pcl for any x86-64 Linux, the same bytes each time
#   make deb        a Debian package, by debhelper
#   make clean      removes build/
#   MODE=rel|dbg|asan|ubsan|tsan|cov   the sanitizers and cov apply to what runs hosted
#   ARCH=x86_64     what is in <room>/$(ARCH)/; none: nothing, see doc/porting.md

MODE ?= rel
PREFIX ?= /usr/local
# make has values of its own for these, so ?= would do nothing.
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
ARCH ?= x86_64
O := build/$(filter-out x86_64-,$(ARCH)-)$(MODE)

include tools/build.mk
