/* See spaces.h. */
#include <stdlib.h>
#include <string.h>
#include "cli/memory.h"
#include "cli/spaces.h"

struct spaces_task {
	u32 pid, tid, space, comm;
};

static u32 add_space(struct spaces *s, u32 pid)
{
	s->space = memory_resize(s->space, (size_t)s->nr + 1, sizeof(*s->space));
	s->space[s->nr] = (struct space){.pid = pid};
	return (u32)s->nr++;
}

static u32 add_comm(struct spaces *s, const char *name)
{
	for (int i = 0; i < s->comms; i++)
		if (!strcmp(s->comm[i], name))
			return (u32)i;
	s->comm = memory_resize(s->comm, (size_t)s->comms + 1, sizeof(*s->comm));
	s->comm[s->comms] = memory_text(name);
	return (u32)s->comms++;
}

/* The newest ones are the most likely. A number that is used again is the newest task's. */
static struct spaces_task *find_task(struct spaces *s, u32 tid)
{
	for (int i = s->tasks - 1; i >= 0; i--)
		if (s->task[i].tid == tid)
			return &s->task[i];
	return NULL;
}

static struct spaces_task *add_task(struct spaces *s, struct spaces_task task)
{
	s->task = memory_resize(s->task, (size_t)s->tasks + 1, sizeof(*s->task));
	s->task[s->tasks] = task;
	return &s->task[s->tasks++];
}

/* A thread that nothing was said of is in its process's space. */
static struct spaces_task *get_task(struct spaces *s, u32 pid, u32 tid)
{
	struct spaces_task *t = find_task(s, tid), *first = find_task(s, pid);

	if (t && t->pid == pid)
		return t;
	if (first)
		return add_task(s, (struct spaces_task){pid, tid, first->space, first->comm});
	return add_task(s, (struct spaces_task){pid, tid, add_space(s, pid), add_comm(s, "")});
}

/* What the child has mapped is what its parent had. */
static u32 copy_space(struct spaces *s, u32 from, u32 pid)
{
	u32 to = add_space(s, pid);
	const struct space *old = &s->space[from];
	struct space *new = &s->space[to];

	new->generation = old->generation;
	new->nr = old->nr;
	new->map = memory_resize(NULL, (size_t)old->nr, sizeof(*new->map));
	for (int i = 0; i < old->nr; i++) {
		new->map[i] = old->map[i];
		new->map[i].path = memory_text(old->map[i].path);
	}
	return to;
}

void spaces_fork(struct spaces *s, u32 pid, u32 ppid, u32 tid, u32 ptid)
{
	struct spaces_task parent = *get_task(s, ppid, ptid);
	u32 space = pid == ppid ? parent.space : copy_space(s, parent.space, pid);

	add_task(s, (struct spaces_task){pid, tid, space, parent.comm});
}

void spaces_comm(struct spaces *s, u32 pid, u32 tid, const char *comm, bool exec)
{
	struct spaces_task *t = get_task(s, pid, tid);

	t->comm = add_comm(s, comm);
	if (exec)
		t->space = add_space(s, pid);
}

void spaces_map(struct spaces *s, u32 pid, u32 tid, const struct mapping *m)
{
	u32 nr = get_task(s, pid, tid)->space; /* which may move them */
	struct space *space = &s->space[nr];

	for (int i = 0; i < space->nr; i++)
		if (space->map[i].start < m->end && m->start < space->map[i].end) {
			space->generation++;
			break;
		}
	space->map = memory_resize(space->map, (size_t)space->nr + 1, sizeof(*space->map));
	space->map[space->nr] = *m;
	space->map[space->nr].generation = space->generation;
	space->map[space->nr++].path = memory_text(m->path);
}

struct who spaces_who(struct spaces *s, u32 pid, u32 tid)
{
	const struct spaces_task *t = get_task(s, pid, tid);

	return (struct who){t->space, t->comm, s->space[t->space].generation};
}

const char *spaces_comm_name(const struct spaces *s, u32 comm)
{
	return s->comm[comm];
}

const struct mapping *spaces_find(const struct spaces *s, u32 space, u32 generation, u64 address)
{
	const struct space *in = &s->space[space];

	for (int i = in->nr - 1; i >= 0; i--) {
		const struct mapping *m = &in->map[i];

		if (m->generation <= generation && m->start <= address && address < m->end)
			return m;
	}
	return NULL;
}

void spaces_free(struct spaces *s)
{
	for (int i = 0; i < s->nr; i++) {
		for (int m = 0; m < s->space[i].nr; m++)
			free(s->space[i].map[m].path);
		free(s->space[i].map);
	}
	for (int i = 0; i < s->comms; i++)
		free(s->comm[i]);
	free(s->space);
	free(s->task);
	free(s->comm);
	*s = (struct spaces){0};
}
