/* Formatting without a C library; see fmt.h. */
#include "abi/types.h"
#include "rt/fmt.h"
#include "rt/string.h"

/* Counts every byte and keeps those that fit. */
struct out {
	char *buf;
	size_t size, len;
};

/* One conversion: flags, width, precision and length modifier. */
struct spec {
	bool left, zero, alt, plus, space;
	int width;
	int precision; /* -1: not given */
	int length;    /* bytes of an integer argument: 1, 2, 4 or 8 */
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

static void put_n(struct out *o, char c, int n)
{
	while (n-- > 0)
		put(o, c);
}

static void put_padded(struct out *o, const struct spec *s, const char *text, size_t len)
{
	int pad = s->width - (int)len;

	if (!s->left)
		put_n(o, ' ', pad);
	for (size_t i = 0; i < len; i++)
		put(o, text[i]);
	if (s->left)
		put_n(o, ' ', pad);
}

/* Digits of v, last first; returns how many. buf holds the 22 octal digits of a u64. */
static int digits_of(char *buf, u64 v, unsigned base, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	int n = 0;

	do
		buf[n++] = set[v % base];
	while (v /= base);
	return n;
}

static const char *prefix_of(const struct spec *s, char conv, u64 v, bool negative)
{
	if (negative)
		return "-";
	if (conv == 'd')
		return s->plus ? "+" : s->space ? " " : "";
	if (conv == 'p' || (s->alt && v && conv == 'x'))
		return "0x";
	if (s->alt && v && conv == 'X')
		return "0X";
	if (s->alt && v && conv == 'o')
		return "0";
	return "";
}

static void put_number(struct out *o, const struct spec *s, char conv, u64 v, bool negative)
{
	char digit[24];
	unsigned base = conv == 'x' || conv == 'X' || conv == 'p' ? 16 : conv == 'o' ? 8 : 10;
	const char *prefix = prefix_of(s, conv, v, negative);
	int n = s->precision == 0 && !v ? 0 : digits_of(digit, v, base, conv == 'X');
	int used = (int)strlen(prefix);
	int zeros = s->precision - n;

	if (zeros > 0 && base == 8 && s->alt)
		prefix = "", used = 0;
	if (s->precision < 0)
		zeros = s->zero && !s->left ? s->width - used - n : 0;
	zeros = MAX(zeros, 0);
	if (!s->left)
		put_n(o, ' ', s->width - used - zeros - n);
	while (*prefix)
		put(o, *prefix++);
	put_n(o, '0', zeros);
	for (int i = n; i > 0; i--)
		put(o, digit[i - 1]);
	if (s->left)
		put_n(o, ' ', s->width - used - zeros - n);
}

static const char *parse_number(const char *f, int *out)
{
	*out = 0;
	while (*f >= '0' && *f <= '9')
		*out = *out * 10 + (*f++ - '0');
	return f;
}

static const char *parse_flags(const char *f, struct spec *s)
{
	for (;; f++) {
		switch (*f) {
		case '-': s->left = true; break;
		case '0': s->zero = true; break;
		case '#': s->alt = true; break;
		case '+': s->plus = true; break;
		case ' ': s->space = true; break;
		default: return f;
		}
	}
}

static const char *parse_length(const char *f, struct spec *s)
{
	s->length = 4;
	if (*f == 'z' || *f == 'l') {
		s->length = 8;
		f += f[0] == 'l' && f[1] == 'l' ? 2 : 1;
	} else if (*f == 'h') {
		s->length = f[1] == 'h' ? 1 : 2;
		f += f[1] == 'h' ? 2 : 1;
	}
	return f;
}

static u64 truncate(u64 v, int length)
{
	return length == 8 ? v : v & ((1ul << length * 8) - 1);
}

static s64 sign_extend(u64 v, int length)
{
	int shift = 64 - length * 8;

	return (s64)(v << shift) >> shift;
}

int rt_vsnprintf(char *buf, size_t size, const char *f, va_list ap)
{
	struct out o = {buf, size, 0};

	for (; *f; f++) {
		struct spec s = {.precision = -1};
		const char *text;
		s64 v;
		char c;

		if (*f != '%') {
			put(&o, *f);
			continue;
		}
		f = parse_flags(f + 1, &s);
		if (*f == '*') {
			s.width = va_arg(ap, int);
			f++;
			if (s.width < 0)
				s.left = true, s.width = -s.width;
		} else {
			f = parse_number(f, &s.width);
		}
		if (*f == '.' && f[1] == '*') {
			s.precision = va_arg(ap, int);
			f += 2;
		} else if (*f == '.') {
			f = parse_number(f + 1, &s.precision);
		}
		f = parse_length(f, &s);
		switch (*f) {
		case 'd':
		case 'i':
			v = sign_extend(s.length == 8 ? va_arg(ap, u64) : va_arg(ap, u32), s.length);
			put_number(&o, &s, 'd', v < 0 ? 0 - (u64)v : (u64)v, v < 0);
			break;
		case 'u':
		case 'x':
		case 'X':
		case 'o':
			put_number(&o, &s, *f, truncate(s.length == 8 ? va_arg(ap, u64) : va_arg(ap, u32), s.length),
				   false);
			break;
		case 'p':
			put_number(&o, &s, 'p', (u64)va_arg(ap, void *), false);
			break;
		case 'c':
			c = (char)va_arg(ap, int);
			put_padded(&o, &s, &c, 1);
			break;
		case 's':
			text = va_arg(ap, const char *);
			text = text ? text : "(null)";
			put_padded(&o, &s, text, s.precision >= 0 ? strnlen(text, s.precision) : strlen(text));
			break;
		case '%':
			put(&o, '%');
			break;
		default: /* not ours: shown as it is, so that the mistake is visible */
			put(&o, '%');
			if (!*f)
				f--;
			else
				put(&o, *f);
		}
	}
	if (size)
		buf[MIN(o.len, size - 1)] = 0;
	return (int)o.len;
}

int rt_snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = rt_vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

size_t rt_append(char *buf, size_t size, size_t at, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (at + 1 >= size)
		return at;
	va_start(ap, fmt);
	n = rt_vsnprintf(buf + at, size - at, fmt, ap);
	va_end(ap);
	return MIN(at + (size_t)n, size - 1);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

int rt_parse_u64(const char *s, u64 *out)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	unsigned base = hex ? 16 : 10;
	u64 v = 0;

	s += hex ? 2 : 0;
	if (!*s)
		return -22;
	for (; *s; s++) {
		unsigned d = digit_value(*s);

		if (d >= base || __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v))
			return -22;
	}
	*out = v;
	return 0;
}
