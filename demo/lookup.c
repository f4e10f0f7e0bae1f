/*
 * Looks words up in a hash table of as many buckets as the argument says. With fewer buckets it does the same, by more
 * work: the regression that the demonstration finds.
 */
#include <stdio.h>
#include <stdlib.h>

#define WORDS 2000

struct word {
	struct word *next;
	unsigned key;
};

static struct word words[WORDS], *bucket[65536];
static unsigned buckets;

__attribute__((noinline)) static unsigned hash(unsigned key)
{
	return (key * 2654435769u >> 8) % buckets;
}

__attribute__((noinline)) static void insert(struct word *w)
{
	struct word **head = &bucket[hash(w->key)];

	w->next = *head;
	*head = w;
}

__attribute__((noinline)) static const struct word *find(unsigned key)
{
	const struct word *w = bucket[hash(key)];

	while (w && w->key != key)
		w = w->next;
	return w;
}

int main(int argc, char **argv)
{
	unsigned found = 0;

	buckets = argc > 1 ? (unsigned)atoi(argv[1]) : 4096;
	if (!buckets || buckets > sizeof(bucket) / sizeof(bucket[0]))
		return 2;
	for (unsigned i = 0; i < WORDS; i++) {
		words[i].key = i * 7919;
		insert(&words[i]);
	}
	for (unsigned i = 0; i < 50 * WORDS; i++)
		found += find(i % WORDS * 7919) != NULL;
	printf("%u words found\n", found);
	return 0;
}
