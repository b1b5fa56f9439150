/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLR_CLAIM_H
#define SLR_CLAIM_H

#include "points.h"
#include "ring.h"

/* A publisher's private view of the ring. With one writer it is the truth; with many, tail and end are unused and freed
 * may be behind. */
struct slr_claimer {
    const struct slr_segment *s;
    uint32_t entry;
    uint64_t tail, end, freed, freed_start;
};

struct slr_claimed {
    uint64_t seq, start;
};

/* Finishes a claim that is not yet counted in tail, if there is one. */
void slr_claimer_help(const struct slr_segment *s);
/* After taking the entry's lock: finish and abandon what its last owner left. */
void slr_claimer_start(struct slr_claimer *c, const struct slr_segment *s, uint32_t entry);
/* Reserves `size` bytes and the next sequence; never waits. OK, FULL or CORRUPT. visible: the claim is to be seen by
 * others (a loan); else, with one writer, nothing is until the commit. */
int slr_claim(struct slr_claimer *c, uint64_t size, bool visible, struct slr_claimed *out);
void slr_abort(struct slr_claimer *c, uint64_t seq);

/* Sequence i is unclaimed if the word is swapped; so what was read of slot i-1 before is right then, too. */
static inline bool slr_reserve(struct slr_claimer *c, uint64_t i, struct slr_slot *slot, uint64_t word,
                               uint64_t start, uint64_t size) {
    const struct slr_segment *s = c->s;
    /* Release: helpers who see this want also see the tail of our claim before it. */
    slr_publish(&s->writer[c->entry].want, size);
    SLR_POINT("claim.announced");
    if (!slr_swap_if(&slot->word, word, slr_word(SLR_CLAIMED, c->entry, slr_lap(s, i)))) return false;
    SLR_POINT("claim.reserved");
    slr_fence_before_overwrite(); /* the slot's fields, too, may be being read for its last lap */
    slr_poke(&slot->end, start + size); /* the same value any helper stores */
    SLR_POINT("claim.before_tail");
    slr_swap_if(&s->ring->tail, i, i + 1);
    SLR_POINT("claim.done");
    return true;
}

/* slr_claim of something not to be seen before its commit, if there is nobody and nothing in the way. */
static inline bool slr_claim_quickly(struct slr_claimer *c, uint64_t size, struct slr_claimed *out) {
    const struct slr_segment *s = c->s;
    bool one = s->writers == SLR_ONE;
    uint64_t i = one ? c->tail : slr_observe(&s->ring->tail);
    struct slr_slot *slot = slr_slot_of(s, i);
    uint64_t word = one ? 0 : slr_observe(&slot->word), start = one ? c->end : slr_start_of(s, i);
    if (!slr_room(s, i, start, size, c->freed, c->freed_start)) return false;
    if (!one && (slr_word_lap(word) != slr_lap(s, i) - 1 || !slr_reserve(c, i, slot, word, start, size))) return false;
    /* We acquired freed, and with it the oldest behind it. Whoever sees our bytes must see that oldest too: its
     * partner is the fence after an optimistic copy. */
    slr_fence_before_overwrite();
    *out = (struct slr_claimed){.seq = i, .start = start};
    return true;
}

/* Makes the filled message readable. */
static inline void slr_commit(struct slr_claimer *c, uint64_t seq, uint64_t end, uint64_t lengths, int64_t time_ns) {
    const struct slr_segment *s = c->s;
    struct slr_slot *slot = slr_slot_of(s, seq);
    slr_poke(&slot->lengths, lengths);
    slr_poke(&slot->time_ns, time_ns);
    bool unseen = s->writers == SLR_ONE && seq == c->tail;
    if (unseen) slr_poke(&slot->end, end);
    SLR_POINT("commit.before_word");
    /* Release, partner of the reader's acquire: the message is complete before it is READY. */
    slr_publish(&slot->word, slr_word(SLR_READY, c->entry, slr_lap(s, seq)));
    SLR_POINT("commit.after_word");
    if (unseen) {
        c->tail = seq + 1;
        c->end = end;
        slr_publish(&s->ring->tail, seq + 1);
    }
}

#endif
