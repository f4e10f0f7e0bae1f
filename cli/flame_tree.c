/* See flame_tree.h. */
#include <stdlib.h>
#include <string.h>
#include "cli/flame_tree.h"
#include "cli/memory.h"

struct making {
	const struct samples *samples;
	struct functions *functions;
	struct flame_node *root;
};

static int compare(const struct flame_node *n, const char *name, const char *file)
{
	int differ = strcmp(n->name, name);

	if (differ || n->file == file)
		return differ;
	return strcmp(n->file ? n->file : "", file ? file : "");
}

static struct flame_node *child_of(struct flame_node *n, const char *name, const char *file)
{
	u32 low = 0, high = n->children;
	struct flame_node *new;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		int differ = compare(n->child[mid], name, file);

		if (!differ)
			return n->child[mid];
		if (differ < 0)
			low = mid + 1;
		else
			high = mid;
	}
	new = memory_zeroed(1, sizeof(*new));
	*new = (struct flame_node){.name = name, .file = file};
	if (!(n->children & (n->children - 1)))
		n->child = memory_resize(n->child, n->children ? n->children * 2ul : 1, sizeof(*n->child));
	memmove(&n->child[low + 1], &n->child[low], (n->children++ - low) * sizeof(*n->child));
	n->child[low] = new;
	return new;
}

static void see(void *arg, const struct stack *st)
{
	struct making *m = arg;
	struct flame_node *n = m->root;
	const struct function *frame[STACK_MAX];

	n->samples += st->samples;
	n = child_of(n, spaces_comm_name(&m->samples->spaces, st->who.comm), NULL);
	n->samples += st->samples;
	for (u32 i = 0; i < st->nr; i++)
		frame[i] = i ? functions_caller(m->functions, &st->who, st->ip[i], frame[i - 1])
			     : functions_find(m->functions, &st->who, st->ip[i]);
	for (u32 i = st->nr; i--;) {
		n = child_of(n, frame[i]->name, frame[i]->file);
		n->samples += st->samples;
	}
}

struct flame_node *flame_tree_make(const struct samples *s, struct functions *f)
{
	struct making m = {s, f, memory_zeroed(1, sizeof(*m.root))};

	m.root->name = "all";
	stacks_each(&s->stacks, see, &m);
	return m.root;
}

void flame_tree_free(struct flame_node *n)
{
	for (u32 i = 0; i < n->children; i++)
		flame_tree_free(n->child[i]);
	free(n->child);
	free(n);
}
