/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading in place. The reader publishes the lowest sequence that it needs, fences, and loads oldest. If oldest is not past that
 * sequence, every later reclaimer sees the hold before it lets memory be reused (reclaim.c).
 *
 * A reliable reader holds everything from its position on. A reader that reads ahead for another process also keeps the messages
 * that the other process has not passed yet.
 */
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ports/subscriber.h"
#include "wait/futex.h"

static uint64_t lowest_hold(const slipring_subscriber *sub) {
    uint64_t lowest = sub->holds_position && sub->cursor < 0 ? sub->position : SLR_NO_HOLD;
    if (sub->keeps && sub->kept < lowest && !SLR_DEFECT(kept_messages_reclaimed)) lowest = sub->kept;
    for (int i = 0; i < sub->held_count; i++)
        if (sub->held[i] < lowest) lowest = sub->held[i];
    return lowest;
}

void slr_hold_publish(slipring_subscriber *sub) {
    /* Release, partner of the reclaimer's acquire: this reader's copies are complete before the memory is reused. */
    slr_store_release(&sub->self->hold, lowest_hold(sub));
}

static int check_can_hold(const slipring_subscriber *sub) {
    if (!sub->self && !sub->s->readers_writable)
        return slr_error(SLIPRING_DENIED, "topic", "holding a message needs write permission on the reader table: use recv()");
    if (!sub->self)
        return slr_error(SLIPRING_TOO_MANY_READERS, "max_readers",
                         "this subscriber has no entry in the full reader table, so it cannot hold a message: use recv(), "
                         "or create the topic with more max_readers=");
    if (sub->held_count == SLR_MAX_VIEWS)
        return slr_error(SLIPRING_BUSY, "", "%d messages are already held: release some", SLR_MAX_VIEWS);
    return SLIPRING_OK;
}

int slipring_subscriber_hold(slipring_subscriber *sub, slipring_message *out) {
    for (;;) {
        int code = check_can_hold(sub);
        if (!code) code = slipring_subscriber_peek(sub, out);
        if (code) return code;
        sub->held[sub->held_count++] = out->seq;
        if (!SLR_DEFECT(hold_not_published)) slr_hold_publish(sub);
        SLR_CRASH_POINT("hold.published");
        slr_fence_seq_cst(); /* partner: the fence in advance_freed (reclaim.c) */
        code = slipring_subscriber_accept(sub);
        SLR_CRASH_POINT("hold.accepted");
        if (code == SLIPRING_OK) return SLIPRING_OK;
        sub->held_count--;
        slr_hold_publish(sub);
        if (code != SLIPRING_LAPPED) return code;
    }
}

int slipring_subscriber_release(slipring_subscriber *sub, uint64_t seq) {
    int code = slr_segment_check(sub->s), i = 0;
    if (code == SLIPRING_FORKED) return code;
    while (i < sub->held_count && sub->held[i] != seq) i++;
    if (i == sub->held_count) return slr_error(SLIPRING_BAD_ARGUMENT, "seq", "this subscriber does not hold that message");
    sub->held[i] = sub->held[--sub->held_count];
    slr_hold_publish(sub);
    SLR_CRASH_POINT("hold.released");
    slr_wake_sleepers(&sub->s->readers->space);
    return SLIPRING_OK;
}

/* The published hold already covers everything from its lowest sequence on. It only moves up, so no handshake is needed. */
int slipring_subscriber_keep(slipring_subscriber *sub, uint64_t seq) {
    int code = slr_read_check(sub);
    if (code) return code;
    if (!sub->holds_position || sub->cursor >= 0)
        return slr_error(SLIPRING_BAD_ARGUMENT, "lossy", "only a reliable subscriber without a cursor can keep messages that it has read");
    uint64_t lowest = sub->keeps && sub->kept < sub->position ? sub->kept : sub->position;
    if (seq < lowest || seq > sub->position)
        return slr_error(SLIPRING_BAD_ARGUMENT, "seq", "seq=%llu is not in the retained range: %llu to %llu",
                         (unsigned long long)seq, (unsigned long long)lowest, (unsigned long long)sub->position);
    sub->keeps = true;
    sub->kept = seq;
    slr_hold_publish(sub);
    slr_wake_sleepers(&sub->s->readers->space);
    return SLIPRING_OK;
}
