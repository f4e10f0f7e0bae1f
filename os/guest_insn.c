/* See guest_insn.h. */
#include "os/guest_insn.h"
#include "rt/guest.h"

int guest_insn_decode(gva pc, struct insn *in)
{
	u8 bytes[ISA_MAX_LEN];
	u32 n = (u32)MIN(sizeof(bytes), PAGE_SIZE - pc % PAGE_SIZE);
	int len;

	if (guest_read(bytes, pc, n))
		return 0;
	len = isa_decode(bytes, n, in);
	if (len < 0 && n < sizeof(bytes) && !guest_read(bytes, pc, sizeof(bytes)))
		len = isa_decode(bytes, sizeof(bytes), in);
	return len > 0 ? len : 0;
}
