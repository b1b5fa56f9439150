/* SPDX-License-Identifier: Apache-2.0
 *
 * One load of the word of a slot, and its meaning for a reader (read.c, range.c).
 */
#ifndef SLR_RING_SLOT_STATE_H
#define SLR_RING_SLOT_STATE_H

#include "base/defects.h"
#include "base/error.h"
#include "ring/ring.h"

enum slr_slot_state { SLR_FOUND, SLR_NOTHING, SLR_OPEN_CLAIM, SLR_ABANDONED, SLR_OVERTAKEN, SLR_DAMAGED };

/* slot_state.c: the state of an open claim, after a short spin. */
enum slr_slot_state slr_slot_read_claim(const struct slr_segment *s, uint64_t seq, uint64_t word);

static inline enum slr_slot_state slr_slot_read_word(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    /* Acquire, partner of the release in slr_commit: a READY message is complete. */
    *word = slr_load_acquire(&slr_slot_of(s, seq)->word);
    uint64_t lap = slr_word_lap(*word), mine = slr_lap(s, seq);
    if (lap != mine) return lap < mine || SLR_DEFECT(lapped_reader_sees_nothing) ? SLR_NOTHING : SLR_OVERTAKEN;
    switch (slr_word_state(*word)) {
        case SLR_READY: return SLR_FOUND;
        case SLR_GONE: return SLR_ABANDONED;
        case SLR_CLAIMED: return SLR_OPEN_CLAIM;
        default: return SLR_DAMAGED;
    }
}

static inline bool slr_counted(const struct slr_segment *s, uint64_t seq) {
    return (int64_t)(slr_load_acquire(&s->ring->tail) - seq) > 0;
}

static inline enum slr_slot_state slr_slot_read(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    enum slr_slot_state state = slr_slot_read_word(s, seq, word);
    if (state == SLR_FOUND || state == SLR_NOTHING) return state;
    if (state == SLR_OPEN_CLAIM) state = slr_slot_read_claim(s, seq, *word);
    return state == SLR_ABANDONED && !slr_counted(s, seq) ? SLR_NOTHING : state;
}

/* The usual case alone: a complete message. */
static inline bool slr_ready_at(const struct slr_segment *s, uint64_t seq) {
    uint64_t word = slr_load_acquire(&slr_slot_of(s, seq)->word); /* partner: slr_commit */
    return slr_word_state(word) == SLR_READY && slr_word_lap(word) == slr_lap(s, seq);
}

#endif
