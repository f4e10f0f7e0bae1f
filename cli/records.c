/* See records.h. */
#include <string.h>
#include "cli/records.h"

void records_drain(struct perf_event_mmap_page *page, u64 size, void (*take)(void *arg, void *record), void *arg)
{
	char *data = (char *)page + PAGE_SIZE;
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
	static union {
		struct perf_event_header header;
		char bytes[1 << 16];
	} whole; /* of a record that lies around the ring's end */

	while (tail < head) {
		u64 at = tail % size, first = size - at;
		struct perf_event_header *h = (void *)(data + at);
		u64 length = h->size;

		if (length < sizeof(*h))
			break;
		if (length > first) {
			memcpy(whole.bytes, h, first);
			memcpy(whole.bytes + first, data, length - first);
			h = &whole.header;
		}
		take(arg, h);
		tail += length;
		__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	}
}
