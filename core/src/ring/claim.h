/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLR_RING_CLAIM_H
#define SLR_RING_CLAIM_H

#include "base/crash_points.h"
#include "base/defects.h"
#include "base/hot_path.h"
#include "ring/ring.h"

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

/* What a writer announces before it claims: the size of a message, and how many of them beyond the first. */
#define SLR_ANNOUNCED_SIZE ((UINT64_C(1) << 48) - 1)
static inline uint64_t slr_announced(uint64_t size, uint64_t count) { return size | (count - 1) << 48; }

/* Finishes a claim that is not yet counted in tail, if there is one. */
void slr_claimer_help(const struct slr_segment *s);
/* After taking the entry's lock: finish and abandon what its last owner left. */
void slr_claimer_start(struct slr_claimer *c, const struct slr_segment *s, uint32_t entry);
/* Reserves `size` bytes and the next sequence; never waits. OK, FULL or CORRUPT. visible: the claim is to be seen by
 * others (a loan); else, with one writer, nothing is until the commit. */
SLR_NOINLINE int slr_claim(struct slr_claimer *c, uint64_t size, bool visible, struct slr_claimed *out);
void slr_abort(struct slr_claimer *c, uint64_t seq);

/* How many of `count` sequences from seq on have slots in a row, of one lap. */
static inline uint64_t slr_until_wrap(const struct slr_segment *s, uint64_t seq, uint64_t count) {
    uint64_t slots = s->slot_count - (seq & s->slot_mask);
    return count < slots ? count : slots;
}

/* The others of a run, that end one size after another. */
static inline void slr_reserve_rest(const struct slr_segment *s, uint32_t entry, uint64_t seq, uint64_t count, uint64_t end,
                                    uint64_t size) {
    for (uint64_t part; count; seq += part, count -= part) {
        struct slr_slot *slot = slr_slot_of(s, seq);
        const uint64_t word = slr_word(SLR_CLAIMED, entry, slr_lap(s, seq));
        part = slr_until_wrap(s, seq, count);
        for (struct slr_slot *const after = slot + part; slot != after; slot++) {
            end += size;
            slr_store_relaxed(&slot->end, end);
            slr_store_relaxed(&slot->word, word);
            SLR_CRASH_POINT("claim.one_more");
        }
    }
}

/* `count` messages of `size` bytes each from sequence i on, which is unclaimed if its word is swapped; so what was read of
 * slot i-1 before is right then, too. */
static SLR_ALWAYS_INLINE bool slr_reserve(struct slr_claimer *c, uint64_t i, uint64_t word, uint64_t start, uint64_t size,
                               uint64_t count) {
    const struct slr_segment *s = c->s;
    /* Release: helpers who see this want also see the tail of our claim before it. */
    if (!SLR_DEFECT(size_announced_after_claim)) slr_store_release(&s->writer[c->entry].want, slr_announced(size, count));
    SLR_CRASH_POINT("claim.announced");
    const uint32_t owner = SLR_DEFECT(claim_without_owner) ? 0 : c->entry;
    if (!slr_cas(&slr_slot_of(s, i)->word, word, slr_word(SLR_CLAIMED, owner, slr_lap(s, i)))) return false;
    if (SLR_DEFECT(size_announced_after_claim)) slr_store_release(&s->writer[c->entry].want, slr_announced(size, count));
    SLR_CRASH_POINT("claim.reserved");
    slr_fence_release(); /* the slots' fields, too, may be being read for their last lap */
    uint64_t end = start + size;
    if (SLR_DEFECT(tail_moves_before_end)) slr_cas(&s->ring->tail, i, i + count);
    /* The same value any helper stores, here and below. */
    if (!SLR_DEFECT(end_stored_after_tail)) slr_store_relaxed(&slr_slot_of(s, i)->end, end);
    if (count > 1) slr_reserve_rest(s, c->entry, i + 1, count - 1, end, size);
    SLR_CRASH_POINT("claim.before_tail");
    slr_cas(&s->ring->tail, i, i + count);
    if (SLR_DEFECT(end_stored_after_tail)) slr_store_relaxed(&slr_slot_of(s, i)->end, end);
    SLR_CRASH_POINT("claim.done");
    return true;
}

/* slr_claim of `count` messages of one size, not to be seen before their commit, if there is nobody and nothing in the
 * way. They follow each other. */
static SLR_ALWAYS_INLINE bool slr_claim_quickly(struct slr_claimer *c, uint64_t size, uint64_t count, struct slr_claimed *out) {
    const struct slr_segment *s = c->s;
    uint64_t i, start;
    if (s->writers == SLR_ONE) {
        i = c->tail, start = c->end;
        if (!slr_room(s, i + count - 1, start, size * count, c->freed, c->freed_start)) return false;
    } else {
        i = slr_load_acquire(&s->ring->tail);
        uint64_t word = slr_load_acquire(&slr_slot_of(s, i)->word);
        start = slr_start_of(s, i);
        if (!slr_room(s, i + count - 1, start, size * count, c->freed, c->freed_start)) return false;
        if (slr_word_lap(word) != slr_lap(s, i) - 1 || !slr_reserve(c, i, word, start, size, count)) return false;
    }
    /* We acquired freed, and with it the oldest behind it. Whoever sees our bytes must see that oldest too: its
     * partner is the fence after an optimistic copy. */
    slr_fence_release();
    *out = (struct slr_claimed){.seq = i, .start = start};
    return true;
}

/* Makes the filled message readable: in its slot, by its word. s: the claimer's, or a copy of it. */
static inline void slr_commit(struct slr_claimer *c, const struct slr_segment *s, struct slr_slot *slot, uint64_t ready,
                              uint64_t seq, uint64_t end, uint64_t lengths, int64_t time_ns) {
    if (SLR_DEFECT(ready_before_lengths)) slr_store_release(&slot->word, ready);
    slr_store_relaxed(&slot->lengths, lengths);
    slr_store_relaxed(&slot->time_ns, time_ns);
    bool unseen = s->writers == SLR_ONE && seq == c->tail;
    if (unseen) slr_store_relaxed(&slot->end, end);
    if (unseen && SLR_DEFECT(tail_moves_before_ready)) slr_store_release(&s->ring->tail, seq + 1);
    SLR_CRASH_POINT("commit.before_word");
    /* Release, partner of the reader's acquire: the message is complete before it is READY. */
    slr_store_release(&slot->word, ready);
    SLR_CRASH_POINT("commit.after_word");
    if (unseen) {
        c->tail = seq + 1;
        c->end = end;
        slr_store_release(&s->ring->tail, seq + 1);
    }
}

static inline uint64_t slr_ready_word(const struct slr_claimer *c, const struct slr_segment *s, uint64_t seq) {
    return slr_word(SLR_READY, c->entry, slr_lap(s, seq));
}

#endif
