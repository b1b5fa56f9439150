/* SPDX-License-Identifier: Apache-2.0
 *
 * Conflating readers want only the newest. They jump ahead in O(1) and count what they passed over afterwards, a few
 * slots at a time: every message in [start, settled) that was not received was filtered away.
 */
#include "gap.h"
#include "look.h"

void slr_read_settle(slipring_subscriber *sub, uint64_t limit) {
    const struct slr_segment *s = sub->s;
    for (; limit && sub->settled < sub->position; limit--) {
        uint64_t word;
        struct slr_gap gap;
        enum slr_look look = slr_look_at(s, sub->settled, &word);
        if (look == SLR_OPEN_CLAIM || look == SLR_NOTHING || look == SLR_DAMAGED) break;
        if (look == SLR_OVERTAKEN || slr_peek(&s->ring->oldest) > sub->settled) {
            if (!slr_gap_from(s, sub->settled, sub->abandoned, &gap) || gap.oldest > sub->position) break;
            sub->settled_messages += gap.messages;
            sub->settled = gap.oldest;
            sub->abandoned = gap.abandoned;
            continue;
        }
        if (look == SLR_FOUND)
            sub->settled_messages++;
        else if (sub->abandoned != SLR_UNKNOWN)
            sub->abandoned++;
        sub->settled++;
    }
    uint64_t filtered = sub->settled_messages - sub->received;
    if (sub->settled_messages > sub->received && filtered > sub->filtered) sub->filtered = filtered;
}

void slr_conflate_to(slipring_subscriber *sub, uint64_t position) {
    if (position == sub->position) return;
    sub->position = position;
    slr_read_settle(sub, SLR_SETTLE_AT_ONCE);
    slr_read_show_progress(sub);
}

/* The newest message that passes the filter, at or after position; those between are filtered away. A slot found
 * overtaken is an answer: everything below it is gone too, and everything above was looked at. */
int slr_peek_newest(slipring_subscriber *sub, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    uint64_t oldest = slr_observe(&s->ring->oldest); /* before tail, which only grows: so it cannot be beyond it */
    uint64_t newest = slr_observe(&s->ring->tail), word;
    if (slr_look_at_word(s, newest, &word) == SLR_FOUND) newest++; /* READY before one writer's tail */
    if ((int64_t)(newest - sub->position) <= 0) return SLIPRING_EMPTY;
    uint64_t lowest = newest - sub->position > s->slot_count ? newest - s->slot_count : sub->position;
    if ((int64_t)(oldest - newest) > 1) return slr_fault_damaged("oldest is beyond tail");
    if (!sub->safe && lowest < oldest) lowest = oldest;
    uint64_t next = newest; /* where to look from next time: not past a claim that may yet be committed */
    for (uint64_t seq = newest; seq-- > lowest;) {
        enum slr_look look = slr_look_at(s, seq, &word);
        if (look == SLR_OVERTAKEN) break;
        if (look == SLR_DAMAGED) return slr_fault_damaged("a slot is in no known state");
        if (look == SLR_OPEN_CLAIM || look == SLR_NOTHING) next = seq;
        if (look != SLR_FOUND) continue;
        int code = slr_describe(sub, seq, out);
        if (code == SLIPRING_OK) code = slr_filter_message(sub, word, out);
        if (code == SLIPRING_LAPPED) break;
        if (code == SLIPRING_OK) sub->position = seq;
        if (code != SLIPRING_EMPTY) return code;
    }
    slr_conflate_to(sub, next);
    return SLIPRING_EMPTY;
}
