/* SPDX-License-Identifier: Apache-2.0
 *
 * One load of the word of a slot, and what a reader finds there (read.c, range.c).
 */
#ifndef SLR_RING_SLOT_STATE_H
#define SLR_RING_SLOT_STATE_H

#include "base/defects.h"
#include "base/error.h"
#include "ring/ring.h"

/* What a reader finds in the slot of a sequence. */
enum slr_finding {
    SLR_FOUND,      /* a message */
    SLR_NOTHING,    /* no message yet: the slot has an earlier lap, or tail does not count it */
    SLR_OPEN_CLAIM, /* CLAIMED; slr_slot_read returns it only for a live owner */
    SLR_ABANDONED,  /* never a message: GONE, or CLAIMED by a dead owner */
    SLR_OVERTAKEN,  /* the slot has a later lap */
    SLR_DAMAGED,
};

/* slot_state.c: whether the owner of a claim is alive, after a short spin. */
enum slr_finding slr_slot_read_claim(const struct slr_segment *s, uint64_t seq, uint64_t word);

static inline enum slr_finding slr_slot_read_word(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
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

static inline enum slr_finding slr_slot_read(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    enum slr_finding finding = slr_slot_read_word(s, seq, word);
    if (finding == SLR_FOUND || finding == SLR_NOTHING) return finding;
    if (finding == SLR_OPEN_CLAIM) finding = slr_slot_read_claim(s, seq, *word);
    return finding == SLR_ABANDONED && !slr_counted(s, seq) ? SLR_NOTHING : finding;
}

/* The usual case alone: a complete message. */
static inline bool slr_ready_at(const struct slr_segment *s, uint64_t seq) {
    uint64_t word = slr_load_acquire(&slr_slot_of(s, seq)->word); /* partner: slr_commit */
    return slr_word_state(word) == SLR_READY && slr_word_lap(word) == slr_lap(s, seq);
}

#endif
