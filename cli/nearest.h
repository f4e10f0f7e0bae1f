/* The known word that a mistyped one is nearest to, for messages. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

struct nearest {
	const char *word; /* what was typed */
	const char *best; /* NULL: nothing is near */
	unsigned distance;
};

/* Offers a known word. It must live as long as the answer is used. */
void nearest_try(struct nearest *n, const char *known);

#endif
