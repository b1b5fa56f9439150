/* SPDX-License-Identifier: Apache-2.0
 *
 * Where reading begins: new, last, oldest or a given sequence. The number of abandoned sequences below that place is
 * counted, so that later losses are exact (gap.c). If writers reclaim the place during the count, another one is chosen.
 */
#include <inttypes.h>

#include "defects.h"
#include "fault.h"
#include "gap.h"
#include "points.h"
#include "subscriber.h"

#define ATTEMPTS 20 /* each fails only if writers reclaimed what it looked at */

static uint64_t newest_message(const struct slr_segment *s, uint64_t oldest, uint64_t tail) {
    for (uint64_t seq = tail; seq-- > oldest;) {
        uint64_t word = slr_observe(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) == slr_lap(s, seq) && slr_word_state(word) == SLR_READY) return seq;
    }
    return tail;
}

/* The abandoned sequences below position; unknown while a claim below is open. False: position has been reclaimed. */
static bool count_below(const struct slr_segment *s, uint64_t position, uint64_t *abandoned) {
    *abandoned = SLR_UNKNOWN;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t oldest, count, seq;
        if (!slr_gap_oldest(s, &oldest, &count)) return true;
        if (position - oldest > s->slot_count) return SLR_DEFECT(start_overtaken_is_final);
        for (seq = oldest; seq != position; seq++) {
            uint64_t word = slr_observe(&slr_slot_of(s, seq)->word);
            if (slr_word_lap(word) != slr_lap(s, seq)) break;
            if (slr_word_state(word) == SLR_CLAIMED) return true;
            if (slr_word_state(word) == SLR_GONE) count++;
        }
        if (slr_observe(&s->ring->oldest) != oldest) continue; /* what is left to count has become shorter */
        if (seq == position) *abandoned = count;
        return true;
    }
    return true;
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

struct place {
    uint64_t position;
    uint64_t lost;      /* messages between the place that was asked for and position */
    uint64_t abandoned; /* sequences below position, or SLR_UNKNOWN */
};

/* False: what was chosen has been reclaimed meanwhile. */
static bool choose(const slipring_subscriber *sub, int start, uint64_t start_seq, uint64_t tail, struct place *out) {
    const struct slr_segment *s = sub->s;
    uint64_t oldest = slr_observe(&s->ring->oldest), position = tail;
    struct slr_gap gap;
    /* What is said of oldest here may be outdated the next moment, for a lossy reader; reading finds out and counts. */
    if (tail - oldest > s->slot_count) oldest = tail - s->slot_count;
    if (start == SLIPRING_START_OLDEST && !SLR_DEFECT(oldest_means_new)) position = oldest;
    if (start == SLIPRING_START_LAST && !SLR_DEFECT(last_means_new)) position = newest_message(s, oldest, tail);
    if (start == SLIPRING_START_SEQ) position = start_seq;
    *out = (struct place){.position = position, .abandoned = SLR_UNKNOWN};
    if (position < oldest) {
        if (kept(sub, position, tail)) return true;
        if (slr_gap_from(s, position, position ? SLR_UNKNOWN : 0, &gap)) { /* asked for what is gone */
            *out = (struct place){gap.oldest, gap.messages, gap.abandoned};
            if (SLR_DEFECT(start_forgets_abandoned)) out->abandoned = SLR_UNKNOWN;
            return true;
        }
    }
    SLR_POINT("start.placed");
    return count_below(s, position, &out->abandoned);
}

int slr_start_at(slipring_subscriber *sub, int start, uint64_t start_seq) {
    struct place place;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t tail = real_tail(sub->s);
        if (start == SLIPRING_START_SEQ && start_seq > tail)
            return slr_fault(SLIPRING_BAD_ARGUMENT, "start",
                             "start=%" PRIu64 " has not been published yet: the next sequence is %" PRIu64, start_seq, tail);
        if (choose(sub, start, start_seq, tail, &place)) break;
    }
    sub->lost += place.lost;
    sub->position = place.position;
    sub->abandoned = place.abandoned;
    sub->peeked = false;
    sub->settled = place.position;
    sub->settled_messages = sub->received + sub->filtered;
    if (sub->self) slr_poke(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}
