/* See events.h. */
#include "pmu/events.h"

const struct pmu_event pmu_events[] = {
#define EVENT(name, alias, type, config, class, source, text) {name, alias, type, config, class, source, text},
#include "pmu/events.def"
#undef EVENT
};

const u32 pmu_nr_events = ARRAY_SIZE(pmu_events);

const struct pmu_event *pmu_event_find(u32 type, u64 config)
{
	for (u32 i = 0; i < pmu_nr_events; i++)
		if (pmu_events[i].type == type && pmu_events[i].config == config)
			return &pmu_events[i];
	return NULL;
}
