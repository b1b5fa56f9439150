/* SPDX-License-Identifier: Apache-2.0
 *
 * Where reading begins: new, last, oldest or a given sequence.
 */
#include <inttypes.h>

#include "defects.h"
#include "fault.h"
#include "gap.h"
#include "subscriber.h"

static uint64_t newest_message(const struct slr_segment *s, uint64_t oldest, uint64_t tail) {
    for (uint64_t seq = tail; seq-- > oldest;) {
        uint64_t word = slr_observe(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) == slr_lap(s, seq) && slr_word_state(word) == SLR_READY) return seq;
    }
    return tail;
}

/* The abandoned sequences below position; unknown if a claim below is still open, or reclaiming overtakes us. */
static uint64_t abandoned_below(const struct slr_segment *s, uint64_t position) {
    uint64_t oldest, abandoned;
    if (!slr_gap_oldest(s, &oldest, &abandoned)) return SLR_UNKNOWN;
    if (position - oldest > s->slot_count) return SLR_UNKNOWN;
    for (uint64_t seq = oldest; seq != position; seq++) {
        uint64_t word = slr_observe(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) != slr_lap(s, seq) || slr_word_state(word) == SLR_CLAIMED) return SLR_UNKNOWN;
        if (slr_word_state(word) == SLR_GONE) abandoned++;
    }
    return slr_observe(&s->ring->oldest) == oldest ? abandoned : SLR_UNKNOWN;
}

/* One writer stores READY before it moves tail; that message is there already. */
static uint64_t real_tail(const struct slr_segment *s) {
    uint64_t tail = slr_observe(&s->ring->tail);
    uint64_t word = slr_observe(&slr_slot_of(s, tail)->word);
    bool there = slr_word_lap(word) == slr_lap(s, tail) && slr_word_state(word) == SLR_READY;
    return there ? tail + 1 : tail;
}

/* A reclaimer that was at work when a cursor was made may have moved oldest past it; what the cursor holds is there, though,
 * up to freed. */
static bool kept(const slipring_subscriber *sub, uint64_t position, uint64_t tail) {
    const struct slr_segment *s = sub->s;
    return sub->safe && sub->cursor >= 0 && position >= slr_observe(&s->ring->freed) && tail - position <= s->slot_count;
}

int slr_start_at(slipring_subscriber *sub, int start, uint64_t start_seq) {
    const struct slr_segment *s = sub->s;
    uint64_t oldest = slr_observe(&s->ring->oldest), tail = real_tail(s), position = tail;
    struct slr_gap gap;
    if (start == SLIPRING_START_SEQ && start_seq > tail)
        return slr_fault(SLIPRING_BAD_ARGUMENT, "start",
                         "start=%" PRIu64 " has not been published yet: the next sequence is %" PRIu64, start_seq, tail);
    /* What is said of oldest here may be outdated the next moment, for a lossy reader; reading finds out and counts. */
    if (tail - oldest > s->slot_count) oldest = tail - s->slot_count;
    if (start == SLIPRING_START_OLDEST && !SLR_DEFECT(oldest_means_new)) position = oldest;
    if (start == SLIPRING_START_LAST && !SLR_DEFECT(last_means_new)) position = newest_message(s, oldest, tail);
    if (start == SLIPRING_START_SEQ) position = start_seq;
    if (position < oldest && !kept(sub, position, tail) &&
        slr_gap_from(s, position, position ? SLR_UNKNOWN : 0, &gap)) { /* asked for what is gone */
        sub->lost += gap.messages;
        position = gap.oldest;
    }
    sub->position = position;
    sub->abandoned = abandoned_below(s, position);
    sub->peeked = false;
    sub->settled = position;
    sub->settled_messages = sub->received + sub->filtered;
    if (sub->self) slr_poke(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}
