/* See spec.h. Numbers and names come from pmu/events.def and from tracefs; a parser with one position and no look back.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "abi/types.h"
#include "cli/event_names.h"
#include "cli/memory.h"
#include "cli/nearest.h"
#include "cli/processor.h"
#include "cli/spec.h"
#include "cli/tracepoints.h"

#define MODIFIERS   "ukhpPGHDeS"
#define END_OF_NAME ",:/{}"
#define NAME_LEN    256 /* NAME_MAX + 1, as dirent has it */

struct parser {
	const char *text, *at;
	struct specs *out;
	int leader; /* of the group that is open, -1: none is */
	bool first; /* the next event is its leader */
};

static int complain_at(const struct parser *p, const char *what)
{
	fprintf(stderr, "pcl: events \"%s\": %s at \"%s\"\n", p->text, what, p->at);
	return -1;
}

static struct spec *add(struct parser *p, const char *name, size_t len)
{
	struct specs *o = p->out;
	struct spec *s = realloc(o->spec, (size_t)(o->nr + 1) * sizeof(*s));

	if (!s)
		return NULL;
	o->spec = s;
	s += o->nr;
	*s = (struct spec){.text = strndup(name, len),
			   .name = strndup(name, len),
			   .class = EXACT,
			   .attr = {.size = sizeof(s->attr)}};
	if (p->first)
		p->leader = o->nr;
	p->first = false;
	s->leader = p->leader;
	o->nr++;
	return s->name && s->text ? s : NULL;
}

/* What a word is not taken for: the list goes on or ends there. */
static bool is_end(char c)
{
	return !c || c == ',' || c == '}';
}

static bool apply_modifiers(struct spec *s, const char *letters, size_t len)
{
	bool user = memchr(letters, 'u', len), kernel = memchr(letters, 'k', len), hv = memchr(letters, 'h', len);
	struct perf_event_attr *a = &s->attr;

	for (size_t i = 0; i < len; i++)
		if (!strchr(MODIFIERS, letters[i]))
			return false;
	if (user || kernel || hv) {
		s->has_mode = true;
		a->exclude_user = !user;
		a->exclude_kernel = !kernel;
		a->exclude_hv = !hv;
	}
	a->exclude_host = memchr(letters, 'G', len) && !memchr(letters, 'H', len);
	a->exclude_guest = memchr(letters, 'H', len) && !memchr(letters, 'G', len);
	a->pinned = memchr(letters, 'D', len) != NULL;
	a->exclusive = memchr(letters, 'e', len) != NULL;
	return len > 0;
}

/* At ":" or, behind a slash, at the letters themselves. For the events from `first` on. */
static int parse_modifiers(struct parser *p, int first, bool colon)
{
	size_t len;

	if (is_end(*p->at))
		return 0;
	if (colon && *p->at++ != ':')
		return complain_at(p, "what is this");
	len = strcspn(p->at, ",}");
	for (int i = first; i < p->out->nr; i++)
		if (!apply_modifiers(&p->out->spec[i], p->at, len))
			return complain_at(p, "a modifier is not one of " MODIFIERS);
	p->at += len;
	return 0;
}

static void take_row(struct spec *s, const struct event_row *row)
{
	s->attr.type = row->type;
	s->attr.config = row->config;
	s->class = row->class;
	s->is_time = row->is_time;
}

static int complain_unknown(const char *name)
{
	struct nearest nearest = {.word = name};
	const char *why = event_name_missing(name);

	event_names_offer(&nearest);
	if (why)
		fprintf(stderr, "pcl: %s is not supported: %s\n", name, why);
	else if (nearest.best)
		fprintf(stderr, "pcl: no event is called %s; is %s meant? (see pcl list)\n", name, nearest.best);
	else
		fprintf(stderr, "pcl: no event is called %s (see pcl list)\n", name);
	return -1;
}

/* By its number. */
static void take_class(struct spec *s)
{
	const struct event_row *row = event_name_of(PERF_TYPE_RAW, s->attr.config);
	const char *class = row ? row->class : processor_class_of(s->attr.config);

	if (class)
		s->class = class;
}

/* rNNN, unless that is a name. */
static bool parse_raw(const char *name, struct spec *s)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]))
		return false;
	s->attr.type = PERF_TYPE_RAW;
	s->attr.config = strtoull(name + 1, &end, 16);
	take_class(s);
	return !*end;
}

static int parse_name(struct parser *p)
{
	size_t len = strcspn(p->at, END_OF_NAME);
	struct spec *s = add(p, p->at, len);
	const struct event_row *row = s ? event_name_find(s->name, false) : NULL;
	int first = p->out->nr - 1;

	if (!s || !len)
		return complain_at(p, "an event's name is missing");
	if (row)
		take_row(s, row);
	else if (!parse_raw(s->name, s))
		return complain_unknown(s->name);
	p->at += len;
	return parse_modifiers(p, first, true);
}

/* Where a term's number goes: the format of the cpu PMU. */
static bool set_term(struct spec *s, const char *key, u64 v)
{
	static const struct {
		const char *key;
		u32 shift;
		u64 mask;
	} formats[] = {
		{"event", 0, 0xff}, {"umask", 8, 0xff},	 {"edge", 18, 1},
		{"inv", 23, 1},	    {"cmask", 24, 0xff}, {"config", 0, ~0ul},
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(key, formats[i].key) && v <= formats[i].mask) {
			s->attr.config |= v << formats[i].shift;
			return true;
		}
	if (!strcmp(key, "event") && v <= 0xfff) /* AMD's have 12 bits, the upper ones at 32 */
		s->attr.config |= (v & 0xff) | (v & 0xf00) << 24;
	else if (!strcmp(key, "callstack") || !strcmp(key, "config1"))
		s->attr.config1 |= v;
	else if (!strcmp(key, "config2"))
		s->attr.config2 |= v;
	else
		return false;
	return true;
}

static int parse_term(struct parser *p, struct spec *s)
{
	size_t len = strcspn(p->at, ",/"), key_len = strcspn(p->at, "=,/");
	char key[NAME_LEN], *end;
	const struct event_row *row;
	u64 v;

	if (!len || len >= sizeof(key) || p->at[len] == 0)
		return complain_at(p, "a term or the second slash is missing");
	memcpy(key, p->at, len);
	key[len] = 0;
	row = event_name_find(key, true);
	if (key_len == len && row) {
		take_row(s, row);
	} else if (key_len == len && set_term(s, key, 1)) {
		/* a flag */
	} else if (key_len == len) {
		return complain_unknown(key);
	} else if (!strncmp(key, "name=", 5) && key[5]) {
		free(s->name);
		s->name = strdup(key + 5);
	} else {
		key[key_len] = 0;
		v = strtoull(key + key_len + 1, &end, 0);
		if (*end || end == key + key_len + 1 || !set_term(s, key, v))
			return complain_at(p, "not a term of the cpu PMU (event=, umask=, config=, name=)");
	}
	p->at += len;
	return 0;
}

static int parse_pmu(struct parser *p)
{
	const char *end = strchr(p->at + strlen("cpu/"), '/');
	size_t len = end ? (size_t)(end + 1 - p->at) : strlen(p->at);
	struct spec *s = add(p, p->at, len);
	int first = p->out->nr - 1;

	if (!s)
		return -1;
	s->attr.type = PERF_TYPE_RAW;
	p->at += strlen("cpu/");
	do {
		if (parse_term(p, s))
			return -1;
	} while (*p->at++ == ',');
	take_class(s);
	return parse_modifiers(p, first, *p->at == ':');
}

static bool parse_access(const char *text, size_t len, u32 *type)
{
	*type = 0;
	for (size_t i = 0; i < len; i++) {
		u32 bit = text[i] == 'r'   ? HW_BREAKPOINT_R
			  : text[i] == 'w' ? HW_BREAKPOINT_W
			  : text[i] == 'x' ? HW_BREAKPOINT_X
					   : 0;

		if (!bit || (*type & bit))
			return false;
		*type |= bit;
	}
	return len > 0;
}

/* mem:ADDRESS[/LENGTH][:rwx] */
static int parse_breakpoint(struct parser *p)
{
	const char *start = p->at;
	char *end;
	u64 address = strtoull(start + 4, &end, 0), length = 0;
	u32 type = HW_BREAKPOINT_RW;
	struct spec *s;
	size_t len;

	if (end == start + 4)
		return complain_at(p, "an address is missing");
	if (*end == '/' && !isdigit((unsigned char)end[1]))
		return complain_at(p, "a length is missing");
	if (*end == '/')
		length = strtoull(end + 1, &end, 0);
	len = *end == ':' ? strcspn(end + 1, END_OF_NAME) : 0;
	if (len && parse_access(end + 1, len, &type))
		end += 1 + len;
	else
		type = HW_BREAKPOINT_RW;
	s = add(p, start, (size_t)(end - start));
	if (!s)
		return -1;
	s->attr.type = PERF_TYPE_BREAKPOINT;
	s->attr.bp_addr = address;
	s->attr.bp_type = type;
	s->attr.bp_len = length ? length : type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	p->at = end;
	return parse_modifiers(p, p->out->nr - 1, true);
}

struct matched {
	struct parser *parser;
	const char *group; /* of tracepoints */
};

static int add_tracepoint(void *arg, const char *name, u64 id)
{
	const struct matched *m = arg;
	char full[2 * NAME_LEN + 1];
	struct spec *s;

	snprintf(full, sizeof(full), "%s:%s", m->group, name);
	s = add(m->parser, full, strlen(full));
	if (!s)
		return -1;
	s->attr.type = PERF_TYPE_TRACEPOINT;
	s->attr.config = id;
	if (!strcmp(m->group, "exceptions"))
		s->class = MEASURED; /* as page-faults */
	return 0;
}

static int parse_tracepoint(struct parser *p)
{
	size_t system_len = strcspn(p->at, ":"), len = strcspn(p->at + system_len + 1, END_OF_NAME);
	char system[NAME_LEN], name[NAME_LEN];
	struct nearest nearest = {.word = name};
	int first = p->out->nr, err;

	if (system_len >= sizeof(system) || len >= sizeof(name))
		return complain_at(p, "the name is too long");
	snprintf(system, sizeof(system), "%.*s", (int)system_len, p->at);
	snprintf(name, sizeof(name), "%.*s", (int)len, p->at + system_len + 1);
	err = tracepoints_each(system, name, &nearest, add_tracepoint, &(struct matched){p, system});
	if (err)
		fprintf(stderr, "pcl: %s:%s is not supported: pcl has no tracepoints of %s (see pcl list)\n", system,
			name, system);
	else if (p->out->nr == first && nearest.best)
		fprintf(stderr, "pcl: %s has no tracepoint %s; is %s:%s meant?\n", system, name, system, nearest.best);
	else if (p->out->nr == first)
		fprintf(stderr, "pcl: %s has no tracepoint %s (see pcl list)\n", system, name);
	if (err || p->out->nr == first)
		return -1;
	p->at += system_len + 1 + len;
	return parse_modifiers(p, first, true);
}

static int parse_event(struct parser *p)
{
	size_t len = strcspn(p->at, END_OF_NAME);
	char name[NAME_LEN];

	snprintf(name, sizeof(name), "%.*s", (int)len, p->at);
	if (!strncmp(p->at, "mem:", 4))
		return parse_breakpoint(p);
	if (!strncmp(p->at, "cpu/", 4))
		return parse_pmu(p);
	if (p->at[len] == '/') {
		fprintf(stderr, "pcl: there is no PMU %s; pcl has cpu/.../ (see pcl list)\n", name);
		return -1;
	}
	/* A colon separates modifiers from names that are known, and the two halves of a tracepoint's. */
	if (p->at[len] == ':' && !event_name_find(name, false) && !event_name_missing(name) &&
	    strspn(p->at + len + 1, MODIFIERS) != strcspn(p->at + len + 1, END_OF_NAME))
		return parse_tracepoint(p);
	return parse_name(p);
}

static int parse_list(struct parser *p);

static int parse_group(struct parser *p)
{
	int first = p->out->nr;

	if (p->leader >= 0)
		return complain_at(p, "a group inside of a group");
	p->at++;
	p->leader = first;
	p->first = true;
	if (parse_list(p))
		return -1;
	if (*p->at != '}')
		return complain_at(p, "} is missing");
	p->at++;
	p->leader = -1;
	p->first = false;
	return parse_modifiers(p, first, true);
}

static int parse_list(struct parser *p)
{
	for (;;) {
		if (*p->at == '{' ? parse_group(p) : parse_event(p))
			return -1;
		if (*p->at != ',')
			return 0;
		p->at++;
	}
}

/* Happens in kernel mode only: with exclude_kernel it is never counted. */
static bool is_of_kernel(const struct spec *s)
{
	if (s->attr.type == PERF_TYPE_TRACEPOINT)
		return tracepoints_is_of_kernel(s->text);
	return s->attr.type == PERF_TYPE_SOFTWARE &&
	       (s->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES || s->attr.config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

/* Who did not say which modes count means user mode, as pcl sees no other, but for these. perf asks for both, is
 * refused, and asks again. */
static void take_user_mode(struct specs *out)
{
	for (int i = 0; i < out->nr; i++)
		if (!out->spec[i].has_mode && !is_of_kernel(&out->spec[i]))
			out->spec[i].attr.exclude_kernel = out->spec[i].attr.exclude_hv = 1;
}

/* Those that change what is counted stand behind the event's text, and so in a baseline. */
static void keep_modifiers(struct spec *s)
{
	const char *end = s->text[strlen(s->text) - 1] == '/' ? "" : ":";
	bool same = !strcmp(s->name, s->text);
	char *text;

	if (!s->attr.exclude_host && !s->attr.pinned && !s->attr.exclusive)
		return;
	if (asprintf(&text, "%s%s%s%s%s", s->text, end, s->attr.exclude_host ? "G" : "", s->attr.pinned ? "D" : "",
		     s->attr.exclusive ? "e" : "") < 0)
		return;
	free(s->text);
	s->text = text;
	if (!same)
		return;
	free(s->name);
	s->name = memory_text(text);
}

int specs_parse(const char *text, struct specs *out)
{
	struct parser p = {.text = text, .at = text, .out = out, .leader = -1};

	if (parse_list(&p))
		return -1;
	if (*p.at)
		return complain_at(&p, "what is this");
	take_user_mode(out);
	for (int i = 0; i < out->nr; i++)
		keep_modifiers(&out->spec[i]);
	return 0;
}

void specs_free(struct specs *s)
{
	for (int i = 0; i < s->nr; i++) {
		free(s->spec[i].name);
		free(s->spec[i].text);
	}
	free(s->spec);
	*s = (struct specs){0};
}

/* Whether it is counted alone, for this process. */
static bool opens_alone(const struct spec *s)
{
	struct perf_event_attr attr = s->attr;
	int fd;

	attr.disabled = 1;
	attr.enable_on_exec = attr.inherit = attr.inherit_stat = 0;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const char *spec_refusal(const struct spec *s, int err)
{
	if (s->attr.exclude_user || (err == EACCES && s->has_mode && !s->attr.exclude_kernel))
		return "kernel mode is invisible to pcl, which counts user mode only (:u)";
	switch (err) {
	case ENOENT:
	case EOPNOTSUPP:
		return "pcl does not count it (see pcl list)";
	case EACCES:
		return is_of_kernel(s) ? "it happens in kernel mode, of which an ordinary user is told only with pcl "
					 "--paranoid=1"
				       : "perf_event_paranoid of the session refuses it";
	case EINVAL:
		if (s->leader >= 0 && opens_alone(s))
			return "its group has more events than there are counters (--counters)";
		return s->attr.type == PERF_TYPE_BREAKPOINT
			       ? "not a breakpoint: lengths are 1, 2, 4 and 8, x takes 8 or none and stands alone, and "
				 "the address must be one of user mode"
			       : "it has a bit that the PMU does not know";
	default:
		return strerror(err);
	}
}
