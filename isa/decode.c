/*
 * isa_decode(): see insn.h. The tables are generated (tables.h says what they mean); this file finds the fields.
 *
 * Constraint: decode_at() reads up to 15 bytes of an instruction that has at most three legacy prefixes (one before
 * XOP), and more of a longer one. isa_decode() therefore copies what is too close to the end, or has too many prefixes,
 * into a padded buffer first.
 */
#include "isa/insn.h"
#include "isa/tables.h"
#include "rt/string.h"

#include "isa_tables.h"

#define LOCKED_WEIGHT 64   /* gen_isa.c says what weights mean */
#define PAD	      48   /* 15 prefixes and the longest instruction after them */
#define NEED_PAD      (-2) /* decode_at(): call again with a padded copy */

/* Bits of insn.legacy. */
#define PFX_66	    0x01
#define PFX_F2	    0x02
#define PFX_F3	    0x04
#define PFX_67	    0x08
#define PFX_LOCK    0x10
#define PFX_SEG	    0x20
#define PFX_NOT_VEX (PFX_66 | PFX_F2 | PFX_F3 | PFX_LOCK) /* VEX, EVEX and XOP do not suffer these before them */

/* What is known of an instruction before its ModRM byte. Extension bits are as numbers: 1 extends. */
struct fields {
	const u8 *p;
	u32 key;	/* ISA_KEY_*, without ModRM */
	u32 ctx;	/* ISA_CTX_*: legacy maps only */
	u8 r, x, b, r2; /* 8 (r2: 16) or 0: to be added to a field */
	u8 vvvv, v2;
	u8 aaa, z;
};

static inline s64 load_signed(const u8 *p, unsigned size)
{
	s64 v8;
	s32 v4;
	s16 v2;

	switch (size) {
	case 1:
		return (s8)*p;
	case 2:
		__builtin_memcpy(&v2, p, 2);
		return v2;
	case 4:
		__builtin_memcpy(&v4, p, 4);
		return v4;
	case 8:
		__builtin_memcpy(&v8, p, 8);
		return v8;
	default:
		return 0;
	}
}

static inline unsigned walk(unsigned cell, u32 key)
{
	while (cell & ISA_CELL_NODE) {
		const u16 *node = &isa_nodes[cell & ~ISA_CELL_NODE];

		cell = node[1 + (key >> (node[0] & 0xff) & node[0] >> 8)];
	}
	return cell;
}

/* Whether a use of fields is one of d->check. */
static bool violates(const struct insn *in, const struct isa_desc *d, const struct fields *f)
{
	unsigned reg = (in->modrm >> 3 & 7) + f->r + f->r2;
	unsigned v = f->vvvv + f->v2;
	u32 bad = 0;

	bad |= f->vvvv ? ISA_C_VVVV : 0;
	bad |= f->vvvv > 7 ? ISA_C_VVVV8 : 0;
	bad |= f->v2 ? ISA_C_V2 : 0;
	bad |= f->r ? ISA_C_R : 0;
	bad |= f->r2 ? ISA_C_R2 : 0;
	bad |= f->aaa ? ISA_C_MASK : ISA_C_NO_MASK;
	bad |= f->z ? ISA_C_Z | (f->aaa ? 0 : ISA_C_Z_NO_MASK) : 0;
	bad |= in->legacy & PFX_67 ? ISA_C_A32 : 0;
	if (in->modrm >= 0xc0) {
		unsigned rm = (in->modrm & 7) + f->b;

		bad |= f->x ? ISA_C_X : 0;
		bad |= f->b ? ISA_C_B : 0;
		rm += in->enc == ISA_EVEX && !(d->attr & ISA_RM_GPR) ? f->x << 1 : 0;
		bad |= rm == v ? ISA_C_RM_V : 0;
		bad |= rm == reg ? ISA_C_REG_RM : 0;
	} else {
		unsigned index = (in->sib >> 3 & 7) + f->x + f->v2;

		bad |= !in->sib_off ? ISA_C_NO_SIB : 0;
		bad |= (in->modrm & 0xc7) == 5 ? ISA_C_RIP : 0;
		bad |= index == reg ? ISA_C_REG_IDX : 0;
		bad |= index == f->vvvv ? ISA_C_IDX_V : 0;
		v -= d->attr & ISA_VSIB ? f->v2 : 0;
	}
	bad |= v == reg ? ISA_C_REG_V : 0;
	return bad & d->check;
}

/* 8-bit registers without REX or VEX: 4 to 7 are ah, ch, dh, bh. */
static unsigned high_byte(struct insn *in, unsigned n)
{
	if (n < 4)
		return n;
	in->attr |= ISA_REG8_HIGH;
	return n & 3;
}

static inline void set_registers(struct insn *in, const struct isa_desc *d, const struct fields *f)
{
	u32 fl = d->fields;
	unsigned reg = (in->modrm >> 3 & 7) + f->r;
	unsigned rm = (in->modrm & 7) + f->b;
	unsigned op = (in->opcode & 7) + f->b;

	if ((fl & ISA_F_ANY8) && !in->rex && in->enc == ISA_LEGACY) {
		reg = fl & ISA_F_REG8 ? high_byte(in, reg) : reg;
		rm = fl & ISA_F_RM8 ? high_byte(in, rm) : rm;
		op = fl & ISA_F_OP8 ? high_byte(in, op) : op;
	}
	in->reads |= (fl & 1) << reg | (fl >> 2 & 1) << rm | (fl >> 4 & 1) << f->vvvv | (fl >> 6 & 1) << op;
	in->writes |= (fl >> 1 & 1) << reg | (fl >> 3 & 1) << rm | (fl >> 5 & 1) << f->vvvv | (fl >> 7 & 1) << op;
}

/* The bytes of the memory operand after ModRM. Returns how many. */
static unsigned set_memory(struct insn *in, const struct isa_desc *d, const struct fields *f)
{
	const u8 *p = f->p + in->modrm_off + 1;
	unsigned mod = in->modrm >> 6;
	unsigned n = 0;
	unsigned base = in->modrm & 7;

	if (base == 4) {
		unsigned index;

		in->sib = *p;
		in->sib_off = in->modrm_off + 1;
		n = 1;
		base = in->sib & 7;
		index = (in->sib >> 3 & 7) + f->x;
		if (index != 4 && !(d->attr & ISA_VSIB))
			in->index = index;
	}
	if (mod == 0) {
		in->disp_size = base == 5 ? 4 : 0;
		if (base == 5 && !in->sib_off)
			in->attr |= ISA_RIP_REL;
	} else {
		in->disp_size = mod == 1 ? 1 : 4;
	}
	if (mod || base != 5)
		in->base = base + f->b;
	if (in->disp_size) {
		in->disp_off = in->modrm_off + 1 + n;
		in->disp = load_signed(p + n, in->disp_size);
		if (in->disp_size == 1)
			in->disp *= 1 << d->disp8_shift;
	}
	if (d->fields & ISA_F_NOP)
		return n + in->disp_size;
	if (in->base != 0xff)
		in->reads |= 1u << in->base;
	if (in->index != 0xff)
		in->reads |= 1u << in->index;
	return n + in->disp_size;
}

/* No instruction; `looked_at` bytes were needed to know. */
static int fail(struct insn *in, unsigned looked_at)
{
	in->len = looked_at;
	return 0;
}

static inline void copy_desc(struct insn *in, const struct isa_desc *d)
{
	in->kind = d->kind;
	in->opsize = d->opsize;
	in->rm_size = d->rm_size;
	in->imm_size = d->imm_size;
	in->reads = d->reads;
	in->writes = d->writes;
	in->fl_reads = d->fl_reads;
	in->fl_writes = d->fl_writes;
	in->fl_kills = d->fl_kills;
	in->weight = d->weight;
	in->attr = d->attr;
	in->modrm_off = in->modrm = in->sib_off = in->sib = in->disp_off = in->disp_size = 0;
	in->base = in->index = 0xff;
	in->disp = 0;
}

/* What only some instructions need to have checked or set. Returns false if that makes it invalid. */
static bool finish_rare(struct insn *in, const struct isa_desc *d, const struct fields *f)
{
	if (d->check && violates(in, d, f))
		return false;
	if (in->legacy & PFX_LOCK) {
		if (!(d->fields & ISA_F_LOCK))
			return false;
		in->attr |= ISA_LOCK;
		in->weight = LOCKED_WEIGHT;
	}
	if ((d->fields & ISA_F_INT) && (u8)in->imm == 0x80)
		in->kind = ISA_SYSENTER;
	return true;
}

/* From the opcode's cell on: all that follows in->opcode_off. */
static int finish(struct insn *in, unsigned cell, const struct fields *f)
{
	unsigned off = in->opcode_off + 1u;
	unsigned modrm = f->p[off];
	const struct isa_desc *d;

	if (!cell)
		return fail(in, off);
	cell = walk(cell, f->key | modrm);
	if (!cell)
		return fail(in, off + 1);
	d = &isa_descs[cell];
	if (d->fields & ISA_F_MODRM)
		d += modrm >= 0xc0;
	if (d->fields & ISA_F_INVALID)
		return fail(in, off + 1);
	copy_desc(in, d);
	if (d->fields & ISA_F_MODRM) {
		in->modrm_off = off++;
		in->modrm = modrm;
		if (modrm < 0xc0 && !(d->fields & ISA_F_MOD3))
			off += set_memory(in, d, f);
	} else if (d->fields & ISA_F_MOFFS) {
		in->disp_off = off;
		in->disp_size = in->legacy & PFX_67 ? 4 : 8;
		in->disp = load_signed(f->p + off, in->disp_size);
		off += in->disp_size;
	}
	set_registers(in, d, f);
	in->imm_off = d->imm_size ? off : 0;
	in->imm = load_signed(f->p + off, d->imm_first);
	off += d->imm_size;
	if (off > ISA_MAX_LEN)
		return fail(in, ISA_MAX_LEN);
	if ((d->check | (in->legacy & PFX_LOCK) | (d->fields & ISA_F_INT)) && !finish_rare(in, d, f))
		return fail(in, off);
	in->len = off;
	return off;
}

static void set_prefix3(struct fields *f, unsigned b1, unsigned b2)
{
	f->r = b1 & 0x80 ? 0 : 8;
	f->x = b1 & 0x40 ? 0 : 8;
	f->b = b1 & 0x20 ? 0 : 8;
	f->vvvv = ~b2 >> 3 & 15;
	f->key |= (b2 >> 7) << ISA_KEY_W | (b2 & 3) << ISA_KEY_PP | (b2 >> 2 & 1) << ISA_KEY_LL;
}

static int decode_vex(struct insn *in, struct fields *f, unsigned off, unsigned first)
{
	const u8 *p = f->p + off;

	in->enc = ISA_VEX;
	in->map = 1;
	if (first == 0xc4) {
		in->map = p[1] & 0x1f;
		set_prefix3(f, p[1], p[2]);
		off++;
	} else {
		set_prefix3(f, p[1] | 0x7f, p[1] & 0x7f);
	}
	in->opcode_off = off + 2;
	in->opcode = f->p[off + 2];
	if (in->map < 1 || in->map > 3)
		return fail(in, off + 2);
	return finish(in, isa_prefixed[ISA_ROW_VEX + in->map - 1][in->opcode], f);
}

static int decode_xop(struct insn *in, struct fields *f, unsigned off)
{
	const u8 *p = f->p + off;

	in->enc = ISA_XOP;
	in->map = p[1] & 0x1f;
	set_prefix3(f, p[1], p[2]);
	in->opcode_off = off + 3;
	in->opcode = p[3];
	if (in->map > 10)
		return fail(in, off + 3);
	return finish(in, isa_prefixed[ISA_ROW_XOP + in->map - 8][in->opcode], f);
}

static int decode_evex(struct insn *in, struct fields *f, unsigned off)
{
	const u8 *p = f->p + off;

	in->enc = ISA_EVEX;
	in->map = p[1] & 7;
	set_prefix3(f, p[1], p[2] & ~4u);
	f->r2 = p[1] & 0x10 ? 0 : 16;
	f->v2 = p[3] & 8 ? 0 : 16;
	f->aaa = p[3] & 7;
	f->z = p[3] >> 7;
	f->key |= (p[3] >> 5 & 3) << ISA_KEY_LL | (p[3] >> 4 & 1) << ISA_KEY_BC;
	in->opcode_off = off + 4;
	in->opcode = p[4];
	if ((p[1] & 8) || !(p[2] & 4) || in->map < 1 || in->map > 6)
		return fail(in, off + 4);
	return finish(in, isa_prefixed[ISA_ROW_EVEX + in->map - 1][in->opcode], f);
}

/* 0F 0F: the byte that chooses the instruction comes last, where an immediate would be. */
static int decode_3dnow(struct insn *in, struct fields *f, unsigned off)
{
	unsigned modrm = f->p[off + 1];
	unsigned suffix = off + 2;
	unsigned cell;

	in->enc = ISA_3DNOW;
	in->opcode = 0x0f;
	in->opcode_off = off;
	if (modrm < 0xc0) {
		unsigned base = modrm & 7;

		if (base == 4)
			base = f->p[suffix++] & 7;
		suffix += modrm >= 0x80 ? 4 : modrm >= 0x40 ? 1 : base == 5 ? 4 : 0;
	}
	cell = isa_prefixed[ISA_ROW_3DNOW][f->p[suffix]];
	return cell ? finish(in, cell, f) : fail(in, MIN(suffix + 1, ISA_MAX_LEN));
}

/* What a byte is as a prefix: PFX_* bits, or one of these. */
#define PFX_REX	  0x40
#define PFX_FS_GS 0x80

static const u8 prefix_kind[256] = {
	[0x26] = PFX_SEG,
	[0x2e] = PFX_SEG,
	[0x36] = PFX_SEG,
	[0x3e] = PFX_SEG,
	[0x40 ... 0x4f] = PFX_REX,
	[0x64] = PFX_SEG | PFX_FS_GS,
	[0x65] = PFX_SEG | PFX_FS_GS,
	[0x66] = PFX_66,
	[0x67] = PFX_67,
	[0xf0] = PFX_LOCK,
	[0xf2] = PFX_F2,
	[0xf3] = PFX_F3,
};

/* Reads the legacy prefixes and REX, which counts only as the last of them. Returns the offset after them. */
static inline unsigned prefixes(struct insn *in, struct fields *f)
{
	unsigned legacy = 0;
	unsigned off = 0;

	in->seg = in->rex = 0;
	for (; off < ISA_MAX_LEN; off++) {
		u8 b = f->p[off];
		u8 kind = prefix_kind[b];

		if (!kind)
			break;
		in->rex = kind & PFX_REX ? b : 0;
		in->seg = kind & PFX_FS_GS ? b : in->seg;
		f->ctx = kind == PFX_F2 ? ISA_CTX_F2 : kind == PFX_F3 ? ISA_CTX_F3 : f->ctx;
		legacy |= kind;
	}
	in->legacy = legacy & ~(PFX_REX | PFX_FS_GS);
	f->ctx |= legacy & PFX_66 ? ISA_CTX_66 : 0;
	f->key |= legacy & PFX_67 ? 1u << ISA_KEY_A32 : 0;
	if (in->rex) {
		f->r = in->rex << 1 & 8;
		f->x = in->rex << 2 & 8;
		f->b = in->rex << 3 & 8;
		f->key |= (in->rex >> 2 & 1) << ISA_KEY_R | (in->rex & 1) << ISA_KEY_B;
		f->ctx |= in->rex & 8 ? ISA_CTX_W : 0;
	}
	return off;
}

static int decode_legacy(struct insn *in, struct fields *f, unsigned off)
{
	unsigned b = f->p[off];

	in->map = 0;
	if (b == 0x0f) {
		in->map = 1;
		b = f->p[++off];
		if (b == 0x0f)
			return decode_3dnow(in, f, off);
		if (b == 0x38 || b == 0x3a) {
			in->map = b == 0x38 ? 2 : 3;
			b = f->p[++off];
		}
	}
	in->opcode = b;
	in->opcode_off = off;
	return finish(in, isa_legacy[in->map][f->ctx][b], f);
}

static int decode_at(const u8 *p, bool padded, struct insn *in)
{
	struct fields f = {.p = p};
	unsigned off = prefixes(in, &f);
	unsigned b;

	if (off >= ISA_MAX_LEN)
		return fail(in, ISA_MAX_LEN);
	b = p[off];
	if (!padded && off - !!in->rex > 3)
		return NEED_PAD;
	in->prefix_off = in->rex ? off - 1 : off;
	in->enc = ISA_LEGACY;
	if (likely(b != 0xc4 && b != 0xc5 && b != 0x62 && (b != 0x8f || (p[off + 1] & 0x1f) < 8)))
		return decode_legacy(in, &f, off);
	if (in->rex || (in->legacy & PFX_NOT_VEX))
		return fail(in, off + 1);
	if (b == 0x62)
		return decode_evex(in, &f, off);
	if (b != 0x8f)
		return decode_vex(in, &f, off, b);
	return padded || off <= 1 ? decode_xop(in, &f, off) : NEED_PAD;
}

int isa_decode(const u8 *bytes, size_t avail, struct insn *in)
{
	u8 copy[PAD];
	int n;

	if (likely(avail >= ISA_MAX_LEN)) {
		n = decode_at(bytes, false, in);
		if (n != NEED_PAD)
			return n;
		avail = ISA_MAX_LEN;
	}
	memcpy(copy, bytes, avail);
	memset(copy + avail, 0, sizeof(copy) - avail);
	n = decode_at(copy, true, in);
	/* With 15 bytes there is no more to wait for; with fewer, what looked at the padding is undecided. */
	return avail < ISA_MAX_LEN && in->len > avail ? -1 : n;
}
