/* See probe.h. */
#include "tools/gen_isa/probe.h"

#include <stdio.h>
#include <stdlib.h>

static ZydisDecoder decoder;

void die(const char *why)
{
	fprintf(stderr, "gen_isa: %s\n", why);
	exit(1);
}

void probe_init(void)
{
	/* Linux no longer supports MPX and processors no longer have it: its instructions are nops. */
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE)))
		die("ZydisDecoderInit");
}

/* The bytes before the opcode. Returns how many. */
static size_t probe_prefix(const struct probe *p, u8 *out)
{
	u8 *o = out;
	u8 rxb = (!p->r << 7) | (!p->x << 6) | (!p->b << 5);
	u8 wvp = (p->w << 7) | ((~p->vvvv & 15) << 3) | p->pp;

	if (p->lock)
		*o++ = 0xf0;
	if (p->a32)
		*o++ = 0x67;
	if (p->p66)
		*o++ = 0x66;
	if (p->rep)
		*o++ = p->rep;
	switch (p->enc) {
	case ISA_LEGACY:
	case ISA_3DNOW:
		if (p->w | p->r | p->x | p->b)
			*o++ = 0x40 | p->w << 3 | p->r << 2 | p->x << 1 | p->b;
		if (p->map)
			*o++ = 0x0f;
		if (p->map > 1)
			*o++ = p->map == 2 ? 0x38 : 0x3a;
		break;
	case ISA_VEX:
	case ISA_XOP:
		*o++ = p->enc == ISA_VEX ? 0xc4 : 0x8f;
		*o++ = rxb | p->map;
		*o++ = wvp | p->ll << 2;
		break;
	case ISA_EVEX:
		*o++ = 0x62;
		*o++ = rxb | !p->r2 << 4 | p->map;
		*o++ = wvp | 4;
		*o++ = p->z << 7 | p->ll << 5 | p->bc << 4 | !p->v2 << 3 | p->aaa;
		break;
	}
	return o - out;
}

/* Returns Zydis' status; fails also if the bytes turn out to be something else than p says. */
static ZyanStatus decode_status(const struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
	static const u8 map_of[] = {ZYDIS_OPCODE_MAP_DEFAULT,
				    ZYDIS_OPCODE_MAP_0F,
				    ZYDIS_OPCODE_MAP_0F38,
				    ZYDIS_OPCODE_MAP_0F3A,
				    0,
				    ZYDIS_OPCODE_MAP_MAP5,
				    ZYDIS_OPCODE_MAP_MAP6,
				    0,
				    ZYDIS_OPCODE_MAP_XOP8,
				    ZYDIS_OPCODE_MAP_XOP9,
				    ZYDIS_OPCODE_MAP_XOPA};
	static const u8 enc_of[] = {[ISA_LEGACY] = ZYDIS_INSTRUCTION_ENCODING_LEGACY,
				    [ISA_VEX] = ZYDIS_INSTRUCTION_ENCODING_VEX,
				    [ISA_EVEX] = ZYDIS_INSTRUCTION_ENCODING_EVEX,
				    [ISA_XOP] = ZYDIS_INSTRUCTION_ENCODING_XOP,
				    [ISA_3DNOW] = ZYDIS_INSTRUCTION_ENCODING_3DNOW};
	u8 bytes[32] = {0};
	size_t n = probe_prefix(p, bytes);
	ZyanStatus status;

	bytes[n++] = p->enc == ISA_3DNOW ? 0x0f : p->opcode;
	bytes[n++] = p->modrm;
	if ((p->modrm & 0xc7) == 4)
		bytes[n++] = p->sib;
	if (p->enc == ISA_3DNOW)
		bytes[n + ((p->modrm & 0xc7) == 5 ? 4 : 0)] = p->opcode;
	status = ZydisDecoderDecodeFull(&decoder, bytes, 15, zi, op);
	if (!ZYAN_SUCCESS(status))
		return status;
	if (zi->meta.isa_set == ZYDIS_ISA_SET_KNCJKBR) /* jkzd and jknzd, which would be taken for jz and jnz */
		return ZYDIS_STATUS_DECODING_ERROR;
	/* The byte may have been a prefix or an escape, not an opcode. */
	if (zi->encoding != enc_of[p->enc] ||
	    (p->enc != ISA_3DNOW && (zi->opcode != p->opcode || zi->opcode_map != map_of[p->map])))
		return ZYDIS_STATUS_DECODING_ERROR;
	return status;
}

bool probe_decode(const struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
	return ZYAN_SUCCESS(decode_status(p, zi, op));
}

bool probe_valid(const struct probe *p)
{
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	return probe_decode(p, &zi, op);
}

bool probe_find(struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
	static const u8 vvvv[] = {0, 5, 6, 14};
	struct probe t = *p;
	ZyanStatus status = decode_status(p, zi, op);

	if (ZYAN_SUCCESS(status))
		return true;
	if (status == ZYDIS_STATUS_DECODING_ERROR || p->enc == ISA_LEGACY || p->enc == ISA_3DNOW)
		return false;
	for (unsigned aaa = 0; aaa < (p->enc == ISA_EVEX ? 2 : 1); aaa++)
		for (unsigned r = 0; r < 2; r++)
			for (unsigned i = 0; i < sizeof(vvvv); i++) {
				t.aaa = aaa;
				t.r = r;
				t.vvvv = vvvv[i];
				if (probe_decode(&t, zi, op)) {
					*p = t;
					return true;
				}
			}
	return false;
}

unsigned probe_disp8_shift(const struct probe *p)
{
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	u8 bytes[32] = {0};
	size_t n = probe_prefix(p, bytes);

	bytes[n++] = p->opcode;
	bytes[n++] = (p->modrm & 0x38) | 0x44;
	bytes[n++] = p->sib;
	bytes[n++] = 1;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, 15, &zi, op)))
		die("no 8-bit displacement");
	for (unsigned i = 0; i < zi.operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
			return __builtin_ctzll(op[i].mem.disp.value);
	return 0;
}
