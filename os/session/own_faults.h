/*
 * Page faults of the guest's own. The host has one number for each thread, and most of the others are in it, too: of
 * pcl's memory while it translates, begins a program, keeps images. So a thread says when it begins such work and when
 * it ends it. What the host's number rises by meanwhile is taken off; and who asks meanwhile is told what it was at the
 * beginning. So the number is never too great, and never falls.
 *
 * Nobody pays for that before a page-fault event has been opened (event_space->faults).
 */
#ifndef OS_OWN_FAULTS_H
#define OS_OWN_FAULTS_H

#include "abi/types.h"
#include "os/session/arena.h"
#include "os/session/proc.h"
#include "os/session/thread.h"

/* Own work of the calling thread. They nest. */
void own_faults_begin(struct thread *t);
void own_faults_end(struct thread *t);
/* A new task begins, or a task's new image, with own work. That ends with own_faults_settle(): the guest runs next. */
void own_faults_task_begins(struct thread *t);
void own_faults_image_begins(struct thread *t);
void own_faults_settle(struct thread *t);
/* The same of a new image: if its program has no kept translations, memory is touched ahead (dbt_touch_ahead()). */
void own_faults_image_settle(struct thread *t);

/* Minor and major ones of the calling thread's guest. False: the host does not tell. */
bool own_faults_of_guest(const struct thread *t, u64 *faults);
/* /proc/PID/task/TID/stat of another task, whose faults are its guest's. 0, or -errno. */
int own_faults_read_stat(const struct task *task, struct proc_stat *out);

#endif
