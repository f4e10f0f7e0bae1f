/* See processor.h. */
#include <cpuid.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "cli/event_names.h"
#include "cli/pin.h"
#include "cli/processor.h"

#define BRAND_FIRST 0x80000002u /* leaf of CPUID */

enum {
#define PROCESSOR(id, name, text) PROCESSOR_##id,
#define MODELS(id, vendor, family, first, last)
#include "pmu/processors.def"
#undef PROCESSOR
#undef MODELS
};

static const struct {
	const char *name, *text;
} names[] = {
#define PROCESSOR(id, name, text) {name, text},
#define MODELS(id, vendor, family, first, last)
#include "pmu/processors.def"
#undef PROCESSOR
#undef MODELS
};

static const struct {
	u32 processor;
	char vendor[12 + 1];
	u32 family, first, last;
} models[] = {
#define PROCESSOR(id, name, text)
#define MODELS(id, vendor, family, first, last) {PROCESSOR_##id, vendor, family, first, last},
#include "pmu/processors.def"
#undef PROCESSOR
#undef MODELS
};

#define CONFIG(event, umask) (((event)&0xfful) | ((u64)(event) >> 8) << 32 | (u64)(umask) << 8)

const struct processor_event processor_events[] = {
#define COUNTED(processors, event, umask, name, class, cell, differs)                                                  \
	{processors, CONFIG(event, umask), name, class, differs},
#define NEEDS(processors, event, umask, name, what)
#include "pmu/vendor_amd.def"
#include "pmu/vendor_intel.def"
#undef COUNTED
#undef NEEDS
};

const size_t processor_nr_events = ARRAY_SIZE(processor_events);

/* Leaf 1's eax, as both vendors say. */
static u32 find(const char *vendor, u32 a)
{
	u32 family = (a >> 8 & 15) + ((a >> 8 & 15) == 15 ? a >> 20 & 0xff : 0), model = (a >> 4 & 15) | (a >> 16 & 15)
														 << 4;

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(models[i].vendor, vendor) && models[i].family == family && model >= models[i].first &&
		    model <= models[i].last)
			return models[i].processor;
	return PROCESSOR_NONE;
}

static u32 find_own(void)
{
	char vendor[12 + 1] = "";
	u32 a, b, c, d;

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return PROCESSOR_NONE;
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	__get_cpuid(1, &a, &b, &c, &d);
	return find(vendor, a);
}

const char *processor_brand(void)
{
	static union {
		u32 word[12 + 1];
		char text[49];
	} brand;
	u32 a, b, c, d;
	char *start = brand.text;

	if (!__get_cpuid(BRAND_FIRST - 2, &a, &b, &c, &d) || a < BRAND_FIRST + 2)
		return "unknown";
	for (u32 i = 0; i < 3; i++)
		__get_cpuid(BRAND_FIRST + i, &brand.word[4 * i], &brand.word[4 * i + 1], &brand.word[4 * i + 2],
			    &brand.word[4 * i + 3]);
	while (*start == ' ')
		start++;
	for (size_t n = strlen(start); n && start[n - 1] == ' '; n--)
		start[n - 1] = 0;
	return *start ? start : "unknown";
}

static u32 chosen;

int processor_choose(const char *name)
{
	u32 signature = pin_chosen()->signature;

	if (!name)
		chosen = signature ? find("GenuineIntel", signature) : find_own();
	else
		while (chosen < ARRAY_SIZE(names) && strcmp(names[chosen].name, name))
			chosen++;
	if (chosen < ARRAY_SIZE(names))
		return 0;
	fprintf(stderr, "pcl: wrong option --processor=%s: the names are", name);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		fprintf(stderr, "%s %s", i ? "," : "", names[i].name);
	fprintf(stderr, " (see pcl --help)\n");
	return -1;
}

u32 processor_chosen(void)
{
	return chosen;
}

const char *processor_text(void)
{
	return names[chosen].text;
}

const char *processor_terms(u64 config)
{
	static char text[64];
	u32 event = (u32)(config & 0xff) | (u32)(config >> 24 & 0xf00), umask = (u32)(config >> 8 & 0xff);

	if (umask)
		snprintf(text, sizeof(text), "event=0x%02x,umask=0x%02x", event, umask);
	else
		snprintf(text, sizeof(text), "event=0x%02x", event);
	return text;
}

/* tests/unit/pmu/vendor.c: numbers that two processors have differ in no class. */
const char *processor_class_of(u64 config)
{
	for (size_t i = 0; i < processor_nr_events; i++)
		if (processor_events[i].config == config)
			return processor_events[i].class;
	return NULL;
}
