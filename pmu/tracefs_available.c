/* available_events of the session's tracefs: SUBSYSTEM:NAME of each tracepoint that can be opened. */
#include "pmu/tracefs.h"
#include "pmu/tracefs_texts.h"
#include "rt/fmt.h"

#define EVENTS "/sys/kernel/tracing/events"

static size_t append_group(const char *group, char *buf, size_t size, size_t at)
{
	char dir[sizeof(EVENTS) + TRACEFS_NAME], id[sizeof(dir) + TRACEFS_NAME + 4], name[TRACEFS_NAME];

	rt_snprintf(dir, sizeof(dir), EVENTS "/%s", group);
	for (u32 i = 0; tracefs_entry(dir, i, name) != PMU_NODE_NONE; i++) {
		rt_snprintf(id, sizeof(id), "%s/%s/id", dir, name);
		if (tracefs_find(id) == PMU_NODE_FILE)
			at = rt_append(buf, size, at, "%s:%s\n", group, name);
	}
	return at;
}

size_t tracefs_available(char *buf, size_t size)
{
	char group[TRACEFS_NAME];
	enum pmu_node node;
	size_t at = 0;

	for (u32 i = 0; (node = tracefs_entry(EVENTS, i, group)) != PMU_NODE_NONE; i++)
		if (node == PMU_NODE_DIR)
			at = append_group(group, buf, size, at);
	return at;
}
