/* See pin.h. */
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/nearest.h"
#include "cli/pids.h"
#include "cli/pin.h"

enum {
#define PIN(id, name, text) PIN_##id,
#include "os/session/pin.def"
#undef PIN
	ITEMS,
};

#define ALL	      ((1u << ITEMS) - 1)
#define BY_ITSELF     (ALL & ~(1u << PIN_SCHEDULE | 1u << PIN_PIDS)) /* what --pin is without words */
#define DEFAULT_CPU   2 /* of the words of --cpu */
#define WORD_LEN      31
#define LEVEL_OF(cpu) ((u32)(cpu) + 1)

static const struct {
	const char *name, *text;
} items[ITEMS] = {
#define PIN(id, name, text) [PIN_##id] = {name, text},
#include "os/session/pin.def"
#undef PIN
};

/* Registers as isa/levels.def names them. */
enum { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

static const struct {
	u32 level, leaf, reg, bit;
	const char *name;
} features[] = {
#define LEVEL(level, name, signature, components)
#define FEATURE(level, leaf, reg, bit, name) {level, leaf, reg, bit, name},
#include "isa/levels.def"
#undef LEVEL
#undef FEATURE
};

static const struct {
	const char *name;
	u32 signature, components;
} levels[] = {
#define LEVEL(level, name, signature, components) [level] = {name, signature, components},
#define FEATURE(level, leaf, reg, bit, name)
#include "isa/levels.def"
#undef LEVEL
#undef FEATURE
};

static struct pin_choice choice;
static const char *kept; /* --keep-env */
static bool pids_are_named; /* not by "all" alone */

const struct pin_choice *pin_chosen(void)
{
	return &choice;
}

/* ---- the words of --pin ---- */

static int find_item(const char *word, size_t len)
{
	int i = 0;

	while (i < ITEMS && (strlen(items[i].name) != len || memcmp(items[i].name, word, len)))
		i++;
	return i;
}

static int complain_item(const char *word, size_t len)
{
	char name[WORD_LEN + 1] = "";
	struct nearest nearest = {.word = name};

	memcpy(name, word, len < WORD_LEN ? len : WORD_LEN);
	for (int i = 0; i < ITEMS; i++)
		nearest_try(&nearest, items[i].name);
	if (*name && nearest.best)
		fprintf(stderr, "pcl: --pin has no item %s; is %s meant? (see pcl --pin=help)\n", name, nearest.best);
	else
		fprintf(stderr, "pcl: --pin has no item %s (see pcl --pin=help)\n", *name ? name : "without a name");
	return -1;
}

/* What has been taken from a whole. */
static int check_clock(u32 chosen)
{
	if (!(chosen >> PIN_SCHEDULE & 1) || chosen >> PIN_CLOCK & 1)
		return 0;
	fprintf(stderr, "pcl: --pin's item schedule needs clock, since threads wait by virtual time\n");
	return -1;
}

/* ITEM,... or [all,]-ITEM,+ITEM,...: 0, or -1 after a message. */
static int parse(const char *text, u32 *out)
{
	size_t len = strcspn(text, ",");
	bool all = len == 3 && !memcmp(text, "all", 3), changes = all || strchr("-+", *text);

	*out = all ? ALL : changes ? BY_ITSELF : 0;
	if (!*text || (all && !text[len]))
		return 0;
	for (text += all ? len + 1 : 0;; text += len + 1) {
		char sign = *text == '-' || *text == '+' ? *text : 0;
		const char *word = text + !!sign;
		int item;

		len = strcspn(text, ",");
		item = find_item(word, len - (size_t)(word - text));
		if (item == ITEMS)
			return complain_item(word, len - (size_t)(word - text));
		if (!sign == changes) {
			fprintf(stderr, "pcl: --pin takes items, or [all,]-ITEM,+ITEM,...: not both (see pcl "
					"--pin=help)\n");
			return -1;
		}
		pids_are_named |= item == PIN_PIDS && sign != '-';
		*out = sign == '-' ? *out & ~(1u << item) : *out | 1u << item;
		if (!text[len])
			break;
	}
	return changes ? check_clock(*out) : 0;
}

/* ---- the processor ---- */

static u32 components(void)
{
	u32 a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return 3; /* x87 and SSE */
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return a;
}

/* 0, or -1 after a message: this processor has not all of it. Of level 1 nothing is asked: hypervisors hide parts. */
static int check_level(u32 level)
{
	const char *missing =
		(components() & levels[level].components) == levels[level].components ? NULL : "the kernel's support";

	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		u32 r[4] = {0};

		if (features[i].level == 1 || features[i].level > level)
			continue;
		__get_cpuid_count(features[i].leaf, 0, &r[CPUID_EAX], &r[CPUID_EBX], &r[CPUID_ECX], &r[CPUID_EDX]);
		if (!(r[features[i].reg] >> features[i].bit & 1) && *features[i].name)
			missing = features[i].name;
	}
	if (missing)
		fprintf(stderr, "pcl: this processor cannot be seen as %s: it lacks %s; choose a lower one by --cpu\n",
			levels[level].name, missing);
	return missing ? -1 : 0;
}

static int choose_cpu(int cpu)
{
	if (cpu == OPTIONS_NOT_GIVEN)
		cpu = choice.items >> PIN_CPU & 1 ? DEFAULT_CPU : 0;
	if (!cpu) {
		choice.items &= ~(1u << PIN_CPU);
		return 0;
	}
	choice.items |= 1u << PIN_CPU;
	choice.level = (u32)cpu;
	choice.signature = levels[LEVEL_OF(cpu)].signature;
	return check_level(LEVEL_OF(cpu));
}

int pin_choose(const struct options *o)
{
	if (o->pin && parse(o->pin, &choice.items))
		return -1;
	if (choice.items >> PIN_SCHEDULE & 1)
		choice.items |= 1u << PIN_CLOCK;
	if (o->pin && o->aslr) {
		fprintf(stderr, "pcl: --pin and --aslr: addresses are the same each time, or they are not\n");
		return -1;
	}
	if (o->keep_env && !(choice.items >> PIN_ENV & 1)) {
		fprintf(stderr, "pcl: --keep-env needs --pin with its item env: without that the whole environment is "
				"passed on\n");
		return -1;
	}
	kept = o->keep_env;
	choice.virtual = choice.items >> PIN_CLOCK & 1;
	return choose_cpu(o->cpu);
}

int pin_help(void)
{
	printf("usage: pcl --pin ...                all of these but pids and schedule\n"
	       "       pcl --pin=ITEM,... ...       only the items that are named\n"
	       "       pcl --pin=-ITEM,+ITEM,...    as --pin, but without some and with others\n"
	       "       pcl --pin=all[,-ITEM,...]    all, or all but some\n\n");
	for (int i = 0; i < ITEMS; i++)
		printf("  %-11s %s\n", items[i].name, items[i].text);
	printf("\nHeld still without --pin, too: addresses, AT_RANDOM.\n"
	       "Not held still: the order of processes that run at once, and without schedule of threads; network,\n"
	       "files and their times; the kernel's version, the host's name; other files of /proc and /sys.\n");
	return 0;
}

/* ---- before the first program ---- */

extern char **environ;

/* A name of a list, in front of the '=' of a variable. */
static bool is_named(const char *list, const char *variable)
{
	size_t len = strcspn(variable, "=");

	for (; list && *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
		if (strcspn(list, ",") == len && !memcmp(list, variable, len))
			return true;
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void pin_environment(void)
{
	size_t n = 0;

	if (!(choice.items >> PIN_ENV & 1))
		return;
	for (char **at = environ; *at; at++)
		if (!strncmp(*at, "LC_", 3) || is_named("PATH,HOME,LANG,TZ,TMPDIR,LD_LIBRARY_PATH,LD_PRELOAD", *at) ||
		    is_named(kept, *at))
			environ[n++] = *at;
	environ[n] = NULL;
	qsort(environ, n, sizeof(*environ), by_text);
}

/* 0, or -1 after a message: they were asked for by name. */
static int pin_pids(bool staying)
{
	const char *why;

	if (!(choice.items >> PIN_PIDS & 1) || !pids_begin(staying, &why))
		return 0;
	choice.items &= ~(1u << PIN_PIDS);
	if (!pids_are_named)
		return 0;
	fprintf(stderr,
		"pcl: process ids cannot be held still: %s: %s (--pin=-pids leaves them out)\n", why, strerror(errno));
	return -1;
}

/* 0, or -1 after a message. */
static int pin_cpus(void)
{
	cpu_set_t allowed, one;

	if (!(choice.items >> PIN_CPUS & 1))
		return 0;
	if (!sched_getaffinity(0, sizeof(allowed), &allowed)) {
		while (choice.cpu < CPU_SETSIZE && !CPU_ISSET(choice.cpu, &allowed))
			choice.cpu++;
		CPU_ZERO(&one);
		CPU_SET(choice.cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), &one))
			return 0;
	}
	fprintf(stderr, "pcl: cannot run on one CPU: %s (leave that out by --pin=-cpus)\n", strerror(errno));
	return -1;
}

int pin_begin(bool staying)
{
	return pin_pids(staying) || pin_cpus() ? -1 : 0;
}
