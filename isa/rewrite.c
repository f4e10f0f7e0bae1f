/*
 * isa_rename() and isa_set_mem(): see insn.h. Both work on the bytes by the offsets that isa_decode() found, and decode
 * the result again, so that *in always describes what is in buf.
 */
#include "isa/insn.h"
#include "rt/string.h"

/* Extension bits, where REX has them. VEX, EVEX and XOP have them inverted, in the top three bits of byte 1. */
#define EXT_B 1u
#define EXT_X 2u
#define EXT_R 4u

/* Moves what is at off and after it by n bytes. Returns the new length, -1 if it is too long. */
static int shift(u8 *buf, int len, unsigned off, int n)
{
	if (len + n > ISA_MAX_LEN)
		return -1;
	memmove(buf + off + n, buf + off, len - off);
	return len + n;
}

/* Sets the extension bits in mask to ext, adding a REX prefix or a VEX byte if need be. Offsets in *in move with it. */
static int set_ext(u8 *buf, struct insn *in, unsigned mask, unsigned ext, bool need_rex)
{
	u8 *p = buf + in->prefix_off;
	int len = in->len;
	unsigned inv;

	if (in->enc == ISA_LEGACY || in->enc == ISA_3DNOW) {
		if (in->rex) {
			*p = (*p & ~mask) | (ext & mask);
			return len;
		}
		if (!(ext & mask) && !need_rex)
			return len;
		if (in->attr & ISA_REG8_HIGH)
			return -1;
		len = shift(buf, len, in->prefix_off, 1);
		if (len < 0)
			return -1;
		*p = 0x40 | (ext & mask);
	} else if (*p == 0xc5) {
		if ((ext & mask) == (ext & mask & EXT_R)) {
			if (mask & EXT_R)
				p[1] = (p[1] & 0x7f) | (ext & EXT_R ? 0 : 0x80);
			return len;
		}
		len = shift(buf, len, in->prefix_off, 1);
		if (len < 0)
			return -1;
		p[0] = 0xc4;
		p[1] = (p[2] & 0x80) | 0x61;
		p[2] &= 0x7f;
		inv = (mask & ~ext) << 5;
		p[1] = (p[1] & ~(mask << 5)) | inv;
	} else {
		inv = (mask & ~ext) << 5;
		p[1] = (p[1] & ~(mask << 5)) | inv;
		return len;
	}
	in->opcode_off++;
	in->modrm_off += !!in->modrm_off;
	in->sib_off += !!in->sib_off;
	in->disp_off += !!in->disp_off;
	in->imm_off += !!in->imm_off;
	return len;
}

static bool has_ext(const u8 *buf, const struct insn *in, unsigned ext)
{
	if (in->enc == ISA_LEGACY || in->enc == ISA_3DNOW)
		return in->rex & ext;
	if (buf[in->prefix_off] == 0xc5 && ext != EXT_R)
		return false;
	return !(buf[in->prefix_off + 1] & ext << 5);
}

static unsigned field(const u8 *buf, const struct insn *in, unsigned low3, unsigned ext)
{
	return (low3 & 7) + (has_ext(buf, in, ext) ? 8 : 0);
}

static unsigned vvvv(const u8 *buf, const struct insn *in)
{
	const u8 *p = buf + in->prefix_off;

	return ~(p[0] == 0xc5 ? p[1] : p[2]) >> 3 & 15;
}

static void set_vvvv(u8 *buf, const struct insn *in, unsigned reg)
{
	u8 *p = buf + in->prefix_off + (buf[in->prefix_off] == 0xc5 ? 1 : 2);

	*p = (*p & 0x87) | (~reg & 15) << 3;
}

/* Which fields of an instruction name a register, and which extension bits belong to them. */
struct named {
	bool reg, rm, op, base, index, vvvv;
	unsigned ext;
};

static struct named find(const u8 *buf, const struct insn *in, unsigned from)
{
	struct named n = {0};
	bool mod3 = in->modrm_off && !(in->attr & ISA_MEM);

	n.reg = (in->attr & ISA_REG_GPR) && field(buf, in, in->modrm >> 3, EXT_R) == from;
	n.rm = mod3 && (in->attr & ISA_RM_GPR) && field(buf, in, in->modrm, EXT_B) == from;
	n.op = (in->attr & ISA_OP_GPR) && field(buf, in, in->opcode, EXT_B) == from;
	n.vvvv = (in->attr & ISA_VVVV_GPR) && vvvv(buf, in) == from;
	n.base = in->base == from;
	n.index = in->index == from;
	n.ext = (n.reg ? EXT_R : 0) | (n.rm || n.op || n.base ? EXT_B : 0) | (n.index ? EXT_X : 0);
	return n;
}

/* Whether register `to` fits where n says, without a SIB or displacement byte that is not there. */
static bool fits(const struct insn *in, const struct named *n, unsigned to)
{
	if (n->index && to == 4)
		return false;
	if (n->base && !in->sib_off && (to & 7) == 4)
		return false;
	return !(n->base && in->modrm < 0x40 && (to & 7) == 5);
}

/* Whether what a rewrite made is still the same instruction, as far as a rewrite can make it another. */
static bool similar(const struct insn *a, const struct insn *b)
{
	u32 named = ISA_REG_GPR | ISA_VVVV_GPR | ISA_OP_GPR;

	return a->kind == b->kind && !((a->attr ^ b->attr) & named) && (a->opsize == b->opsize || !(a->attr & named));
}

int isa_rename(u8 *buf, struct insn *in, unsigned from, unsigned to)
{
	struct named n = find(buf, in, from);
	struct insn old = *in;
	unsigned ext = to & 8 ? n.ext : 0;
	bool byte = in->opsize == 1 || in->rm_size == 1;
	int len;

	/* ah..bh: as a number in a field they are not what they seem, and beside them REX has another meaning. */
	if ((in->attr & ISA_REG8_HIGH) && ((n.reg | n.rm | n.op) || from < 4 || (to & 8)))
		return -1;
	if (!n.reg && !n.rm && !n.op && !n.base && !n.index && !n.vvvv)
		return in->len;
	if (!fits(in, &n, to))
		return -1;
	len = set_ext(buf, in, n.ext, ext, byte && to >= 4);
	if (len < 0)
		return -1;
	if (n.reg)
		buf[in->modrm_off] = (buf[in->modrm_off] & 0xc7) | (to & 7) << 3;
	if (n.rm || (n.base && !in->sib_off))
		buf[in->modrm_off] = (buf[in->modrm_off] & 0xf8) | (to & 7);
	if (n.base && in->sib_off)
		buf[in->sib_off] = (buf[in->sib_off] & 0xf8) | (to & 7);
	if (n.index)
		buf[in->sib_off] = (buf[in->sib_off] & 0xc7) | (to & 7) << 3;
	if (n.op)
		buf[in->opcode_off] = (buf[in->opcode_off] & 0xf8) | (to & 7);
	if (n.vvvv)
		set_vvvv(buf, in, to);
	/* Not where 41 90, xchg eax with r8d, becomes a nop. */
	return isa_decode(buf, len, in) == len && similar(in, &old) ? len : -1;
}

/*
 * Makes address-size prefixes harmless: the new address is a 64-bit one. They are overwritten, not taken away, because
 * a REX before one would come to life. ds: means nothing in 64-bit mode, nor does a second fs: or gs:.
 */
static void drop_addr32(u8 *buf, const struct insn *in)
{
	for (unsigned i = 0; i < in->prefix_off; i++)
		if (buf[i] == 0x67)
			buf[i] = in->seg ? in->seg : 0x3e;
}

int isa_set_mem(u8 *buf, struct insn *in, unsigned base, s32 disp)
{
	bool disp8 = disp == (s8)disp && in->enc != ISA_EVEX;
	struct insn old = *in;
	u8 operand[6];
	unsigned n = 0;
	unsigned tail;
	int len;

	if (!in->modrm_off || (in->attr & ISA_VSIB))
		return -1;
	drop_addr32(buf, in);
	len = set_ext(buf, in, EXT_B | EXT_X, base & 8 ? EXT_B : 0, false);
	if (len < 0)
		return -1;
	operand[n++] = (disp8 ? 0x40 : 0x80) | (in->modrm & 0x38) | (base & 7);
	if ((base & 7) == 4)
		operand[n++] = 0x24;
	memcpy(operand + n, &disp, disp8 ? 1 : 4);
	n += disp8 ? 1 : 4;
	tail = in->modrm_off + 1 + !!in->sib_off + in->disp_size;
	len = shift(buf, len, tail, (int)(in->modrm_off + n) - (int)tail);
	if (len < 0)
		return -1;
	memcpy(buf + in->modrm_off, operand, n);
	/* Not where prefix 67 chooses the size of a register operand (enqcmd). */
	return isa_decode(buf, len, in) == len && similar(in, &old) ? len : -1;
}
