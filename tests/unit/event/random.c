/*
 * Random calls against a model that is too simple to be wrong: per task and root event one number and one flag. Seeded:
 * a failure prints its seed, which can be given as the argument.
 */
#include "event/overflow.h"
#include "tests/unit/event/random_calls.h"

#define TASKS 12
#define ROOTS 24
#define STEPS 3000

/* One root event and what each task must have added to it. */
static struct model {
	bool open, inherit, samples;
	task_id opener;
	long fd;
	u32 leader;		 /* index of its leader, or its own */
	bool enabled[FAKE_TASKS]; /* its event on the task, if it has one */
	bool on[FAKE_TASKS];	 /* it has one */
	u64 live[FAKE_TASKS], gone;
} model[ROOTS];
static struct overflow_result result;

static bool counts(const struct model *m, task_id t)
{
	const struct model *leader = &model[m->leader];

	return m->on[t] && m->enabled[t] && leader->enabled[t];
}

static void do_run(void)
{
	task_id t = 1 + pick(TASKS);
	u64 n = 1 + pick(1000);

	if (!fake[t].alive)
		return;
	for (u32 i = 0; i < ROOTS; i++)
		if (model[i].open && counts(&model[i], t))
			model[i].live[t] += n;
	run(t, n);
	if (event_ctx(t)->sampling)
		event_overflow(t, &(struct snapshot){.task = t}, &result);
	for (u32 c = 0; c < FAKE_CELLS; c++)
		expect(!event_ctx(t)->sampling || fake[t].limit[c] > fake[t].cell[c]);
}

static struct model *pick_open(void)
{
	struct model *m = &model[pick(ROOTS)];

	return m->open ? m : NULL;
}

/* All descriptors are in one table: every task shares task 1's. */
static void do_open(void)
{
	struct model *m = &model[pick(ROOTS)], *leader = pick(2) ? pick_open() : NULL;
	struct perf_attr a = attr_of(PERF_TYPE_RAW, 0);
	task_id t = 1 + pick(TASKS);
	long fd;

	if (m->open || !fake[t].alive)
		return;
	if (leader && (leader->leader != (u32)(leader - model) || !leader->on[t] || leader->opener != t))
		leader = NULL;
	a.inherit = leader ? leader->inherit : pick(2);
	a.disabled = pick(2);
	a.sample_period = pick(2) ? 1 + pick(2000) : 0;
	a.freq = pick(4) == 0;
	fd = fake_open(&a, (s32)t + 1000, -1, leader ? (s32)leader->fd : -1, 0);
	expect(fd >= 0);
	*m = (struct model){.open = true, .inherit = a.inherit, .opener = t, .fd = fd};
	m->samples = a.sample_period;
	m->leader = (u32)((leader ? leader : m) - model);
	m->on[t] = true;
	m->enabled[t] = !a.disabled;
}

static void do_close(void)
{
	struct model *m = pick_open();

	if (!m)
		return;
	event_files_close(1, (u64)m->fd);
	m->open = false;
	for (u32 i = 0; i < ROOTS; i++)
		if (model[i].open && model[i].leader == (u32)(m - model))
			model[i].leader = i;
}

static void switch_one(struct model *m, u32 cmd)
{
	for (task_id t = 1; t <= TASKS; t++) {
		if (cmd == PERF_EVENT_IOC_RESET)
			m->live[t] = 0;
		else if (m->on[t])
			m->enabled[t] = cmd == PERF_EVENT_IOC_ENABLE;
	}
}

static void do_control(void)
{
	static const u32 cmds[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET};
	struct model *m = pick_open();
	u32 cmd = cmds[pick(3)];

	if (!m)
		return;
	if (pick(2)) {
		expect_long(control(m->fd, cmd, 0), 0);
		switch_one(m, cmd);
		return;
	}
	expect_long(control(m->fd, cmd, PERF_IOC_FLAG_GROUP), 0);
	for (u32 i = 0; i < ROOTS; i++)
		if (model[i].open && model[i].leader == m->leader)
			switch_one(&model[i], cmd);
}

/* Neither changes what is counted, but that REFRESH enables. */
static void do_period(void)
{
	u64 value = 1 + pick(3000);
	struct model *m = pick_open();

	if (!m)
		return;
	expect_long(control(m->fd, PERF_EVENT_IOC_PERIOD, (gva)&value), m->samples ? 0 : -EINVAL);
	if (pick(4))
		return;
	if (!m->samples || m->inherit) {
		expect_long(control(m->fd, PERF_EVENT_IOC_REFRESH, 0), -EINVAL);
		return;
	}
	expect_long(control(m->fd, PERF_EVENT_IOC_REFRESH, 0), 0);
	switch_one(m, PERF_EVENT_IOC_ENABLE);
}

static void do_fork(void)
{
	task_id parent = 1 + pick(TASKS), child = 2 + pick(TASKS - 1);

	if (!fake[parent].alive || fake[child].alive)
		return;
	expect_long(fake_fork(parent, child, CLONE_FILES), 0);
	for (u32 i = 0; i < ROOTS; i++) {
		struct model *m = &model[i];

		/* Siblings go with their leader; all of a group have the same attr.inherit. */
		if (m->open && m->inherit && m->on[parent] && model[m->leader].on[parent]) {
			m->on[child] = true;
			m->enabled[child] = m->enabled[parent];
		}
	}
}

static void check_values(void)
{
	for (u32 i = 0; i < ROOTS; i++) {
		u64 sum = model[i].gone;

		if (!model[i].open)
			continue;
		for (task_id t = 1; t <= TASKS; t++)
			sum += model[i].live[t];
		expect_long(value_of(model[i].fd), sum);
	}
}

/*
 * The model would mix up the root of a task that has exited and an event of the slot's next task: such roots are
 * closed.
 */
static void close_roots_of_the_dead(void)
{
	for (u32 i = 0; i < ROOTS; i++) {
		struct model *m = &model[i];

		if (!m->open || m->on[m->opener])
			continue;
		event_files_close(1, (u64)m->fd);
		m->open = false;
		for (u32 j = 0; j < ROOTS; j++)
			if (model[j].open && model[j].leader == i)
				model[j].leader = j;
	}
}

static void do_exit(void)
{
	task_id t = 2 + pick(TASKS - 1);

	if (!fake[t].alive)
		return;
	fake_exit(t);
	for (u32 i = 0; i < ROOTS; i++) {
		struct model *m = &model[i];

		if (!m->open || !m->on[t])
			continue;
		m->on[t] = false;
		if (m->opener == t)
			continue; /* the root itself: what it has can still be reset */
		m->gone += m->live[t];
		m->live[t] = 0;
	}
	check_values();
	close_roots_of_the_dead();
}

static void session(void)
{
	static void (*const deeds[])(void) = {do_run,	  do_run,     do_run,	 do_open, do_open, do_close,
					      do_control, do_control, do_period, do_fork, do_fork, do_exit};
	int before = unit_failures;

	memset(model, 0, sizeof(model));
	fake_session();
	for (u32 step = 0; step < STEPS && unit_failures == before; step++) {
		deeds[pick(ARRAY_SIZE(deeds))]();
		if (step % 16 == 0) {
			check_values();
			expect_valid("random calls");
		}
	}
	end_tasks(TASKS);
	expect_empty();
}

int main(int argc, char **argv)
{
	return run_sessions(argc, argv, session, 40);
}
