/* See async.h. */
#include "event/async.h"

#include <asm/siginfo.h>
#include <linux/fcntl.h>
#include "event/event.h"
#include "event/ready.h"
#include "rt/log.h"

enum { OWED_IN, OWED_HUP, OWED_ERR };

_Static_assert(OWED_ERR + 1 == sizeof(((struct event *)0)->async_owed) / sizeof(u32), "a number for each kind");

static u32 owed_for(u32 kill)
{
	return kill == POLL_HUP ? OWED_HUP : kill == POLL_ERR ? OWED_ERR : OWED_IN;
}

/* Tasks that signal for the same event have no other lock in common. */
static void hold(void)
{
	slock_hold(&event_space->async_lock);
}

void async_wake(struct event *root, u32 pending_kill)
{
	if (pending_kill && root->async_pid && root->async_owner && root->async_type != F_OWNER_PGRP) {
		hold();
		root->async_owed[owed_for(pending_kill)]++;
	}
	event_ready_changed(root, pending_kill);
}

u32 async_take(struct event *root, u32 says, bool queues)
{
	const u32 kills[] = {says, POLL_IN, POLL_HUP, POLL_ERR};

	check_slow(event_is_locked());
	hold();
	for (u32 i = 0; i < ARRAY_SIZE(kills); i++) {
		u32 *owed = &root->async_owed[owed_for(kills[i])];

		if (!*owed)
			continue;
		*owed = queues ? *owed - 1 : 0;
		return kills[i];
	}
	return 0;
}

void async_reset(struct event *root)
{
	check_slow(event_is_locked());
	hold();
	for (u32 i = 0; i < ARRAY_SIZE(root->async_owed); i++)
		root->async_owed[i] = 0;
	__atomic_store_n(&root->async_unsent, 0, __ATOMIC_RELAXED);
}

UNNOTED void async_not_sent(struct event *root)
{
	__atomic_fetch_add(&root->async_unsent, 1, __ATOMIC_SEQ_CST);
}

UNNOTED u32 async_owed(const struct event *root)
{
	u32 owed = 0;

	for (u32 i = 0; i < ARRAY_SIZE(root->async_owed); i++)
		owed += __atomic_load_n(&root->async_owed[i], __ATOMIC_SEQ_CST);
	return owed;
}

UNNOTED u32 async_send_again(struct event *root)
{
	u32 unsent = __atomic_exchange_n(&root->async_unsent, 0, __ATOMIC_SEQ_CST), owed = async_owed(root);

	return MIN(unsent, owed);
}
