/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim and commit. The steps that every send takes are inline here; claim.c has the algorithm, and the ways of a claim that finds
 * no room, meets another writer, or is visible before its commit.
 */
#ifndef SLR_RING_CLAIM_H
#define SLR_RING_CLAIM_H

#include "base/crash_points.h"
#include "base/defects.h"
#include "base/hot_path.h"
#include "ring/ring.h"

/* The private view that a publisher has of the ring. With one writer it is exact. With many writers tail and end are unused,
 * and freed may be outdated. */
struct slr_claimer {
    const struct slr_segment *s;
    uint32_t entry;
    uint64_t tail, end, freed, freed_start;
};

struct slr_claimed {
    uint64_t seq, start;
};

/* The announcement of a writer before its claim: the size of a message, and the number of messages beyond the first. */
#define SLR_ANNOUNCED_SIZE ((UINT64_C(1) << 48) - 1)
static inline uint64_t slr_announced(uint64_t size, uint64_t count) { return size | (count - 1) << 48; }

/* Finish a claim that tail does not count yet, if there is one. */
void slr_claimer_help(const struct slr_segment *s);
/* With the lock of the entry: finish and abandon the open claims of its last owner. */
void slr_claimer_start(struct slr_claimer *c, const struct slr_segment *s, uint32_t entry);
/* Reserve `size` bytes and the next sequence without waiting. OK, FULL or CORRUPT. visible: other processes see the claim (a
 * loan). Otherwise, with one writer, they see nothing before the commit. */
SLR_NOINLINE int slr_claim(struct slr_claimer *c, uint64_t size, bool visible, struct slr_claimed *out);
void slr_abort(struct slr_claimer *c, uint64_t seq);

/* Return how many of `count` sequences from seq on have consecutive slots in one lap. */
static inline uint64_t slr_until_wrap(const struct slr_segment *s, uint64_t seq, uint64_t count) {
    uint64_t slots = s->slot_count - (seq & s->slot_mask);
    return count < slots ? count : slots;
}

/* Reserve the other messages of a run; each ends one size after the previous one. */
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

/* Reserve `count` messages of `size` bytes each from sequence i on. If the swap succeeds, i was unclaimed, so the values read
 * from slot i-1 are valid, too. */
static SLR_ALWAYS_INLINE bool slr_reserve(struct slr_claimer *c, uint64_t i, uint64_t word, uint64_t start, uint64_t size,
                               uint64_t count) {
    const struct slr_segment *s = c->s;
    /* Release: helpers that see this announcement also see the tail after the previous claim of this writer. */
    if (!SLR_DEFECT(size_announced_after_claim)) slr_store_release(&s->writer[c->entry].announced, slr_announced(size, count));
    SLR_CRASH_POINT("claim.announced");
    const uint32_t owner = SLR_DEFECT(claim_without_owner) ? 0 : c->entry;
    if (!slr_cas(&slr_slot_of(s, i)->word, word, slr_word(SLR_CLAIMED, owner, slr_lap(s, i)))) return false;
    if (SLR_DEFECT(size_announced_after_claim)) slr_store_release(&s->writer[c->entry].announced, slr_announced(size, count));
    SLR_CRASH_POINT("claim.reserved");
    slr_fence_release(); /* readers may still read the fields of these slots for their last lap */
    uint64_t end = start + size;
    if (SLR_DEFECT(tail_moves_before_end)) slr_cas(&s->ring->tail, i, i + count);
    /* Helpers store the same value, here and below. */
    if (!SLR_DEFECT(end_stored_after_tail)) slr_store_relaxed(&slr_slot_of(s, i)->end, end);
    if (count > 1) slr_reserve_rest(s, c->entry, i + 1, count - 1, end, size);
    SLR_CRASH_POINT("claim.before_tail");
    slr_cas(&s->ring->tail, i, i + count);
    if (SLR_DEFECT(end_stored_after_tail)) slr_store_relaxed(&slr_slot_of(s, i)->end, end);
    SLR_CRASH_POINT("claim.done");
    return true;
}

/* Claim `count` consecutive messages of one size, invisible before their commit, if there is room and no contention. */
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
    /* This writer has loaded freed, and with it the value of oldest behind it. A reader that sees the new bytes must see that
     * oldest, too. Partner: the fence after a copy (slr_intact). */
    slr_fence_release();
    *out = (struct slr_claimed){.seq = i, .start = start};
    return true;
}

/* Make the written message readable. slot: that of seq; s: the segment of the claimer, or a copy of it. */
static inline void slr_commit(struct slr_claimer *c, const struct slr_segment *s, struct slr_slot *slot, uint64_t ready,
                              uint64_t seq, uint64_t end, uint64_t lengths, int64_t time_ns) {
    if (SLR_DEFECT(ready_before_lengths)) slr_store_release(&slot->word, ready);
    slr_store_relaxed(&slot->lengths, lengths);
    slr_store_relaxed(&slot->time_ns, time_ns);
    bool unseen = s->writers == SLR_ONE && seq == c->tail;
    if (unseen) slr_store_relaxed(&slot->end, end);
    if (unseen && SLR_DEFECT(tail_moves_before_ready)) slr_store_release(&s->ring->tail, seq + 1);
    SLR_CRASH_POINT("commit.before_word");
    /* Release, partner of the acquire in slr_slot_read_word: the message is complete before it is READY. */
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
