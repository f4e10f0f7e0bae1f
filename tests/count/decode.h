/* The oracle's instructions: fetched from the program and decoded with Zydis. */
#ifndef TESTS_COUNT_DECODE_H
#define TESTS_COUNT_DECODE_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

enum kind { PLAIN, CONDITIONAL, JUMP, CALL, RETURN, SYSTEM, IDENTIFY };

/* A decoded instruction; valid while the bytes in memory are still these. */
struct decoded {
	uint64_t rip;
	uint8_t bytes[15];
	uint8_t len;
	uint8_t kind;
	bool indirect, rep_string, loads, stores, valid;
};

#define CACHE_BITS 14
static struct decoded cache[1 << CACHE_BITS];
static ZydisDecoder decoder;

static void classify(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op, struct decoded *d)
{
	bool direct = op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	d->len = in->length;
	d->kind = PLAIN;
	d->indirect = d->rep_string = d->loads = d->stores = false;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		d->kind = CONDITIONAL;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		d->kind = JUMP;
		d->indirect = !direct;
		break;
	case ZYDIS_CATEGORY_CALL:
		d->kind = CALL;
		d->indirect = !direct;
		break;
	case ZYDIS_CATEGORY_RET:
		d->kind = RETURN;
		break;
	case ZYDIS_CATEGORY_SYSCALL:
		d->kind = SYSTEM;
		break;
	case ZYDIS_CATEGORY_STRINGOP:
		d->rep_string =
			in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
		break;
	default:
		d->kind = in->mnemonic == ZYDIS_MNEMONIC_CPUID ? IDENTIFY : PLAIN;
		break;
	}
	for (int i = 0; i < in->operand_count; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY || op[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		d->loads |= !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		d->stores |= !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	}
	/* Prefetches and long nops name memory without reading it. */
	if (in->meta.category == ZYDIS_CATEGORY_PREFETCH || in->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	    in->meta.category == ZYDIS_CATEGORY_NOP)
		d->loads = d->stores = false;
}

/* The instruction at rip, from the cache if its bytes have not changed. False: cannot be fetched or decoded. */
static bool fetch(pid_t tid, uint64_t rip, struct decoded *d)
{
	struct decoded *c = &cache[(rip ^ (rip >> CACHE_BITS)) & ((1 << CACHE_BITS) - 1)];
	uint8_t bytes[15] = { 0 };
	struct iovec local[2], remote[2];
	size_t first = 4096 - (rip & 4095);
	ssize_t n;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	if (first > sizeof(bytes))
		first = sizeof(bytes);
	local[0] = (struct iovec){ bytes, sizeof(bytes) };
	remote[0] = (struct iovec){ (void *)rip, first };
	remote[1] = (struct iovec){ (void *)(rip + first), sizeof(bytes) - first };
	n = process_vm_readv(tid, local, 1, remote, first < sizeof(bytes) ? 2 : 1, 0);
	if (n <= 0)
		return false;
	if (c->valid && c->rip == rip && n >= c->len && !memcmp(c->bytes, bytes, c->len)) {
		*d = *c;
		return true;
	}
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &in, op)))
		return false;
	c->rip = rip;
	memcpy(c->bytes, bytes, sizeof(bytes));
	classify(&in, op, c);
	c->valid = true;
	*d = *c;
	return true;
}

#endif
