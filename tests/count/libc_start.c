/* Common parts of the C library: allocation, formatting, parsing, sorting of strings, environment, files. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	char *blocks[32], text[128];
	double sum = 0;
	FILE *f;

	setlocale(LC_ALL, "C");
	for (int i = 0; i < 32; i++) {
		blocks[i] = malloc(24 + i * 61);
		snprintf(blocks[i], 24, "%08x %d", i * 2654435761u, i);
	}
	for (int i = 0; i < 32; i += 3) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	for (int i = 0; i < 32; i++)
		if (blocks[i])
			sum += strtod(blocks[i] + 9, NULL);
	snprintf(text, sizeof(text), "%.6f %s %d", sum, getenv("NO_SUCH_NAME") ? "set" : "unset", argc);
	puts(text);
	f = fopen("/dev/null", "w");
	if (f) {
		fprintf(f, "%s %p\n", argv[0], NULL);
		fclose(f);
	}
	return 0;
}
