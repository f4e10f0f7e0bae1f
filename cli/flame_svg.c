/* See flame_svg.h. Names (data-n), depths (data-d) and positions in samples (data-x, data-w) are for the script. */
#include <string.h>
#include "cli/flame_svg.h"
#include "cli/print.h"
#include "cli/utf8.h"

#define WIDTH  1200
#define MARGIN 10
#define ROW    17
#define HEAD   72 /* above the frames, whose outermost is first: stacks may be higher than a window */
#define FOOT   10
#define LETTER 7.0 /* pixels */
#define LABEL  256

struct drawing {
	const struct flame_picture *picture;
	FILE *f;
	int height;
};

/* The script, as it is in the source. */
extern const char script[], script_end[];
__asm__(".section .rodata\nscript: .incbin \"cli/flame.js\"\nscript_end: .previous");

/* Two characters of Unicode are none of XML: U+FFFE and U+FFFF. */
static size_t character_length(const char *c)
{
	return strncmp(c, "\xef\xbf\xbe", 3) && strncmp(c, "\xef\xbf\xbf", 3) ? utf8_length(c) : 0;
}

/* As text of XML. What is no character there becomes a question mark. */
static void put_text(FILE *f, const char *text)
{
	for (const char *c = text; *c;) {
		size_t n = character_length(c);

		if (*c == '<')
			fputs("&lt;", f);
		else if (*c == '>')
			fputs("&gt;", f);
		else if (*c == '&')
			fputs("&amp;", f);
		else if (*c == '"')
			fputs("&quot;", f);
		else if (!n || (unsigned char)*c < ' ' || *c == 0x7f)
			fputc('?', f);
		else
			fwrite(c, 1, n, f);
		c += n ? n : 1;
	}
}

/* What fits, in whole characters. */
static void put_label(FILE *f, const char *name, double width)
{
	char label[LABEL];
	size_t most = width > 3 * LETTER ? (size_t)((width - 6) / LETTER) : 0, chars = 0, n = 0;

	for (; name[n] && n < sizeof(label) - 8 && chars < most; chars++) {
		size_t len = character_length(name + n);

		n += len ? len : 1;
	}
	if (!name[n]) {
		put_text(f, most ? name : "");
		return;
	}
	if (most < 3)
		return;
	for (int drop = 2; drop && n; drop--)
		do
			n--;
		while (n && ((unsigned char)name[n] & 0xc0) == 0x80);
	memcpy(label, name, n);
	strcpy(label + n, "..");
	put_text(f, label);
}

/* Warm, and always the same for a name. */
static void put_colour(FILE *f, const struct flame_node *n)
{
	u32 hash = 2166136261u;

	if (!n->file) {
		fputs("#d8d8d8", f);
		return;
	}
	for (const char *c = n->name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	hash ^= hash >> 15;
	if (!strcmp(n->file, "[jit]"))
		fprintf(f, "rgb(%u,%u,%u)", 90 + hash % 60, 190 + (hash >> 8) % 50, 90 + (hash >> 16) % 40);
	else
		fprintf(f, "rgb(%u,%u,%u)", 215 + hash % 40, 110 + (hash >> 8) % 110, 60 + (hash >> 16) % 40);
}

static void put_title(const struct drawing *d, const struct flame_node *n)
{
	const struct flame_picture *p = d->picture;
	char count[PRINT_COUNT];

	fputs("<title>", d->f);
	put_text(d->f, n->name);
	if (n->file) {
		fputs(" (", d->f);
		put_text(d->f, n->file);
		fputs(")", d->f);
	}
	fprintf(d->f, ": %s ", print_count(count, n->samples * p->period, p->is_time));
	put_text(d->f, p->event);
	fprintf(d->f, ", %.3f %%</title>", 100.0 * (double)n->samples / (double)p->root->samples);
}

static void draw(const struct drawing *d, const struct flame_node *n, u64 x, int depth)
{
	const struct flame_picture *p = d->picture;
	double scale = (double)(WIDTH - 2 * MARGIN) / (double)p->root->samples, width = (double)n->samples * scale;
	double left = MARGIN + (double)x * scale;
	int y = HEAD + depth * ROW;

	if ((double)n->samples < p->smallest * (double)p->root->samples)
		return;
	fprintf(d->f, "<g data-x=\"%lu\" data-w=\"%lu\" data-d=\"%d\" data-n=\"", x, n->samples, depth);
	put_text(d->f, n->name);
	fputs("\">", d->f);
	put_title(d, n);
	fprintf(d->f, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"", left, y, width, ROW - 1);
	put_colour(d->f, n);
	fprintf(d->f, "\"/><text x=\"%.2f\" y=\"%d\">", left + 3, y + ROW - 5);
	put_label(d->f, n->name, width);
	fputs("</text></g>\n", d->f);
	for (u32 i = 0; i < n->children; i++) {
		draw(d, n->child[i], x, depth + 1);
		x += n->child[i]->samples;
	}
}

static int depth_of(const struct flame_picture *p, const struct flame_node *n)
{
	int deepest = 0;

	for (u32 i = 0; i < n->children; i++)
		if ((double)n->child[i]->samples >= p->smallest * (double)p->root->samples) {
			int below = depth_of(p, n->child[i]);

			deepest = MAX(deepest, below);
		}
	return deepest + 1;
}

static void put_head(const struct drawing *d)
{
	FILE *f = d->f;

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n"
		"<style>text{font:12px monospace;fill:#000;pointer-events:none}.head{font-size:16px}"
		"#search,#reset{pointer-events:auto;cursor:pointer;fill:#555}"
		"#frames g{cursor:pointer}#frames g:hover rect{stroke:#000}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf5\"/>\n"
		"<text class=\"head\" x=\"%d\" y=\"22\">",
		WIDTH, d->height, WIDTH, d->height, MARGIN);
	put_text(f, d->picture->event);
	fputs(":", f);
	for (char **word = d->picture->argv; *word; word++) {
		fputc(' ', f);
		put_text(f, *word);
	}
	fprintf(f, "</text>\n<text x=\"%d\" y=\"42\">", MARGIN);
	put_text(f, d->picture->note);
	fprintf(f,
		"</text>\n<text id=\"reset\" x=\"%d\" y=\"42\" visibility=\"hidden\">reset zoom</text>\n"
		"<text id=\"search\" x=\"%d\" y=\"42\">search</text>\n"
		"<text id=\"says\" x=\"%d\" y=\"%d\"></text>\n"
		"<text id=\"found\" x=\"%d\" y=\"%d\" text-anchor=\"end\"></text>\n<g id=\"frames\">\n",
		WIDTH - 150, WIDTH - 55, MARGIN, HEAD - 12, WIDTH - MARGIN, HEAD - 12);
}

void flame_svg_write(const struct flame_picture *p, FILE *f)
{
	struct drawing d = {p, f, HEAD + FOOT + (p->root->samples ? depth_of(p, p->root) : 1) * ROW};

	put_head(&d);
	if (p->root->samples)
		draw(&d, p->root, 0, 0);
	fputs("</g>\n<script><![CDATA[\n", f);
	fwrite(script, 1, (size_t)(script_end - script), f);
	fputs("]]></script>\n</svg>\n", f);
}
