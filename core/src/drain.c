/* SPDX-License-Identifier: Apache-2.0
 *
 * Many messages in one go, shown to a sink in place.
 */
#include "look.h"

#define AHEAD 16 /* messages: their slots and bytes are on the way while we copy */

/* As many as follow each other without anything to be passed over, a sixteenth of the ring at most: publishers may be
 * waiting for what we have read. Stops at whatever is not a complete message; the general way finds out what it is.
 * OK: go on; else the code to return if *count is 0. */
static int drain_plain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *count) {
    const struct slr_segment *s = sub->s;
    slipring_message m;
    uint64_t begun = sub->position, bytes = 0, seq = begun;
    bool refused = false, overwritten = false;
    if (limit > s->slot_count / 16) limit = s->slot_count / 16;
    for (; seq - begun < limit && bytes < s->capacity / 16 && slr_ready_at(s, seq); seq++) {
        bool fetch = seq + AHEAD - begun < limit; /* not what may be being written: its writer would have to get it back */
        if (fetch) __builtin_prefetch(slr_slot_of(s, seq + AHEAD));
        if (slr_describe(sub, seq, &m)) break;
        if (fetch) __builtin_prefetch(m.body + AHEAD * 64);
        if ((refused = !sink(context, &m)) || (overwritten = !slr_intact(sub, seq))) break;
        bytes += slr_reserved(m.size, (uint64_t)m.type_size + m.sender_size);
    }
    sub->position = seq;
    sub->received += seq - begun;
    sub->progress_messages += seq - begun;
    sub->progress_bytes += bytes;
    *count = (size_t)(seq - begun);
    if (overwritten) return slr_give_up_peeked(sub); /* the sink has one message too many: beyond *count */
    return refused ? SLIPRING_FULL : SLIPRING_OK;
}

static int drain_any(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *count) {
    slipring_message message;
    int code = SLIPRING_OK;
    while (!code && *count < limit) {
        code = slr_read_peek(sub, &message);
        if (code || !sink(context, &message)) break;
        if (!slr_intact(sub, sub->position)) {
            code = slr_give_up_peeked(sub); /* the sink has one message too many: beyond *taken */
            break;
        }
        slr_read_advance(sub);
        ++*count;
    }
    return code;
}

int slipring_subscriber_drain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *taken) {
    int code = slr_read_check(sub);
    size_t count = 0;
    sub->peeked = false;
    if (!code && slr_plain(sub)) code = drain_plain(sub, limit, sink, context, &count);
    if (!code && !count) code = drain_any(sub, limit, sink, context, &count);
    if (code == SLIPRING_FULL) code = SLIPRING_OK; /* the sink is, not the ring */
    sub->peeked = false;
    if (count) sub->slice_ns = 0;
    *taken = count;
    if (sub->conflate) slr_read_settle(sub, SLR_SETTLE_AT_ONCE);
    if (count) slr_read_show_progress(sub);
    return count ? SLIPRING_OK : code;
}
