/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading. A reader polls the word of the slot its position falls on; READY with the right lap is a message.
 *
 * By copy, without a hold: acquire the word, take the slot's fields and the payload by relaxed copies, fence, and look
 * at oldest. If it is still not past us, nothing we copied had been overwritten; else we were lapped: go on at oldest,
 * and count as lost the messages that lay between (gap.c). Laps are full width, so a reader any number of laps behind
 * knows it.
 *
 * Safe readers (reliable, or with a cursor on a reliable topic) have a hold at or below their position: no check.
 *
 * Every value is checked or masked before it is used: contents can be wrong, not dangerous.
 */
#include "copy.h"
#include "defects.h"
#include "gap.h"
#include "look.h"
#include "wait.h"

int slr_read_check(slipring_subscriber *sub) {
    if (slr_peek(&sub->interrupted) && !SLR_DEFECT(closing_does_not_end_a_wait))
        return slr_fault(SLIPRING_CLOSED, "", "the subscriber is closed");
    return slr_segment_check(sub->s);
}

int slr_read_resync(slipring_subscriber *sub) {
    const struct slr_segment *s = sub->s;
    struct slr_gap gap;
    /* tail may be one behind a message that one writer has just made READY */
    if (sub->safe || !slr_gap_from(s, sub->position, sub->abandoned, &gap) || (int64_t)(gap.oldest - slr_observe(&s->ring->tail)) > 1)
        return slr_fault_damaged("a message disappeared that nobody may have reclaimed");
    if (!SLR_DEFECT(losses_not_counted)) sub->lost += gap.messages;
    sub->position = gap.oldest;
    sub->abandoned = gap.abandoned;
    if (sub->self) slr_poke(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}

bool slipring_subscriber_intact(const slipring_subscriber *sub) { return slr_intact(sub, sub->position); }

/* Publishers waiting for space are woken when there is some worth it: a sixteenth of the ring, or nothing left to
 * read. No fence: a wake-up missed here is made good by the next, or by the end of the publisher's slice. */
static void help_publishers(slipring_subscriber *sub, bool always) {
    if (!sub->safe || !sub->s->readers_writable) return;
    if (!always && sub->progress_messages < sub->s->slot_count / 16 && sub->progress_bytes < sub->s->capacity / 16) return;
    sub->progress_messages = sub->progress_bytes = 0;
    slr_wake_sleepers(&sub->s->readers->space);
}

void slr_read_show_progress(slipring_subscriber *sub) {
    if (!sub->self) return;
    slr_poke(&sub->self->position, sub->position);
    slr_poke(&sub->self->received, sub->received);
    slr_poke(&sub->self->filtered, sub->filtered);
    if (sub->safe && sub->cursor < 0) slr_hold_publish(sub);
    help_publishers(sub, false);
}

void slr_read_advance(slipring_subscriber *sub) {
    sub->position++;
    sub->received++;
    sub->peeked = false;
    sub->progress_messages++;
    sub->progress_bytes += sub->peeked_size;
}

static SLR_APART int peek_next(slipring_subscriber *sub, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    uint64_t begun = sub->position;
    int code = SLIPRING_EMPTY;
    /* Not more than a ring's worth of passing over at a time: hostile contents cannot keep us here. */
    for (uint64_t steps = 0; steps <= s->slot_count; steps++) {
        uint64_t word;
        enum slr_look look = slr_look_at(s, sub->position, &word);
        code = SLIPRING_EMPTY;
        if (look == SLR_NOTHING || look == SLR_OPEN_CLAIM) break;
        if (look == SLR_DAMAGED) return slr_fault_damaged("a slot is in no known state");
        if (look == SLR_ABANDONED) {
            sub->position++;
            if (sub->abandoned != SLR_UNKNOWN) sub->abandoned++;
            continue;
        }
        if (look == SLR_FOUND) code = slr_describe(sub, sub->position, out);
        if (look == SLR_FOUND && code == SLIPRING_OK) code = slr_filter_message(sub, word, out);
        if (look == SLR_OVERTAKEN || code == SLIPRING_LAPPED) {
            code = slr_read_resync(sub);
            if (code) return code;
            code = SLIPRING_EMPTY;
            continue;
        }
        if (code != SLIPRING_EMPTY) break;
        sub->position++;
        if (!SLR_DEFECT(filtered_not_counted)) sub->filtered++;
        sub->progress_messages++;
    }
    if (sub->position != begun) slr_read_show_progress(sub);
    return code;
}

/* After slr_read_check. */
int slr_read_peek(slipring_subscriber *sub, slipring_message *out) {
    sub->peeked = false;
    int code = SLIPRING_LAPPED;
    if (slr_plain(sub) && slr_ready_at(sub->s, sub->position)) code = slr_describe(sub, sub->position, out);
    if (code == SLIPRING_LAPPED)
        code = sub->conflate && !SLR_DEFECT(conflate_gives_next) ? slr_peek_newest(sub, out) : peek_next(sub, out);
    sub->peeked = code == SLIPRING_OK;
    if (code == SLIPRING_OK) {
        sub->slice_ns = 0;
        sub->peeked_size = slr_reserved(out->size, (uint64_t)out->type_size + out->sender_size);
    }
    if (code == SLIPRING_EMPTY) help_publishers(sub, true);
    return code;
}

int slipring_subscriber_peek(slipring_subscriber *sub, slipring_message *out) {
    sub->peeked = false;
    int code = slr_read_check(sub);
    return code ? code : slr_read_peek(sub, out);
}

/* The peeked message was overwritten. LAPPED: go on from where the position is now, which is further than before. */
int slr_give_up_peeked(slipring_subscriber *sub) {
    sub->peeked = false;
    int code = SLIPRING_OK;
    if (sub->conflate)
        slr_conflate_to(sub, sub->position + 1); /* that one is gone; the newest is further on */
    else
        code = slr_read_resync(sub);
    return code ? code : SLIPRING_LAPPED;
}

int slr_read_accept(slipring_subscriber *sub) {
    if (!sub->peeked) return slr_fault(SLIPRING_BAD_ARGUMENT, "", "there is no peeked message to accept");
    if (!slr_intact(sub, sub->position)) return slr_give_up_peeked(sub);
    slr_read_advance(sub);
    if (sub->conflate) slr_read_settle(sub, SLR_SETTLE_AT_ONCE);
    return SLIPRING_OK;
}

int slipring_subscriber_accept(slipring_subscriber *sub) {
    int code = slr_read_accept(sub);
    if (!code) slr_read_show_progress(sub);
    return code;
}

bool slr_read_maybe_ready(slipring_subscriber *sub, bool *behind_claim) {
    const struct slr_segment *s = sub->s;
    uint64_t word;
    /* Sequentially consistent: the second half of announcing oneself as a sleeper; partner: wake_readers. */
    slr_fence_full();
    enum slr_look look = slr_look_at_word(s, sub->position, &word);
    *behind_claim = look == SLR_OPEN_CLAIM && slr_counted(s, sub->position);
    return look == SLR_FOUND || look == SLR_OVERTAKEN || look == SLR_DAMAGED || (look == SLR_ABANDONED && slr_counted(s, sub->position));
}
