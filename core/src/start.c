/* SPDX-License-Identifier: Apache-2.0
 *
 * Where reading begins: new, last, oldest or a given sequence. To count losses exactly from there, a reader needs the
 * number of abandoned sequences below its position: known at oldest, and counted from there in one pass over the slots.
 */
#include <inttypes.h>

#include "fault.h"
#include "subscriber.h"

#define ATTEMPTS 1000 /* each fails only if a whole stride was reclaimed meanwhile */

struct place {
    uint64_t position, abandoned, lost;
};

/* False: oldest moved; look again. */
static bool count_below(slipring_subscriber *sub, uint64_t oldest, struct place *place) {
    const struct slr_segment *s = sub->s;
    sub->undecided_count = 0;
    for (uint64_t seq = place->position; seq-- > oldest;) {
        uint64_t word = slr_observe(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) != slr_lap(s, seq)) return false;
        if (slr_word_state(word) == SLR_GONE) place->abandoned++;
        if (slr_word_state(word) == SLR_CLAIMED && sub->undecided_count < SLR_MAX_UNDECIDED)
            sub->undecided[sub->undecided_count++] = seq;
    }
    return slr_observe(&s->ring->oldest) == oldest;
}

static uint64_t newest_message(const struct slr_segment *s, uint64_t oldest, uint64_t tail) {
    for (uint64_t seq = tail; seq-- > oldest;) {
        uint64_t word = slr_observe(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) == slr_lap(s, seq) && slr_word_state(word) == SLR_READY) return seq;
    }
    return tail;
}

static int choose(slipring_subscriber *sub, int start, uint64_t start_seq, struct place *place) {
    const struct slr_segment *s = sub->s;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t oldest, tail, word;
        *place = (struct place){0};
        if (!slr_read_oldest(s, &oldest, &place->abandoned)) continue;
        tail = slr_observe(&s->ring->tail);
        word = slr_observe(&slr_slot_of(s, tail)->word);
        /* One writer stores READY before it moves tail; that message is there already. */
        if (slr_word_lap(word) == slr_lap(s, tail) && slr_word_state(word) == SLR_READY) tail++;
        if (tail - oldest > s->slot_count) continue;
        if (start == SLIPRING_START_SEQ && start_seq > tail)
            return slr_fault(SLIPRING_BAD_ARGUMENT, "start",
                             "sequence %" PRIu64 " has not been published yet: the next one is %" PRIu64, start_seq, tail);
        place->position = tail;
        if (start == SLIPRING_START_OLDEST) place->position = oldest;
        if (start == SLIPRING_START_LAST) place->position = newest_message(s, oldest, tail);
        if (start == SLIPRING_START_SEQ) place->position = start_seq;
        if (place->position < oldest) { /* asked for what is gone */
            place->lost = oldest - place->position;
            place->position = oldest;
        }
        if (count_below(sub, oldest, place)) return SLIPRING_OK;
    }
    return slr_fault(SLIPRING_CORRUPT, "topic", "no place to start reading can be found: the topic is damaged, remove it");
}

int slr_start_at(slipring_subscriber *sub, int start, uint64_t start_seq) {
    struct place place;
    int code = choose(sub, start, start_seq, &place);
    if (code) return code;
    sub->position = place.position;
    sub->abandoned = place.abandoned;
    sub->lost += place.lost;
    sub->peeked = false;
    sub->settled = place.position;
    sub->settled_messages = sub->received + sub->filtered;
    if (sub->self) slr_poke(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}
