/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: how a writer gets the next sequence and its memory.
 *
 * Many writers: lock-free with helping. tail = i is the next sequence. A writer announces in its table entry how many bytes it
 * needs. Then it swaps the word of slot i from its last lap to {CLAIMED, itself, lap of i}. This swap decides which writer
 * owns i. The announced size stays unchanged until tail has passed i, so the swap also decides where i ends. A writer that
 * finds slot i claimed while tail is still i finishes the claim for its owner: it swaps end[i] from its old value to
 * end[i-1] + announced size, then tail from i to i+1. Positions never repeat, so the swap of a late helper fails. A writer
 * that dies or stops between two steps therefore blocks no other writer, and every reserved sequence has a known owner.
 *
 * A run of messages of one size is claimed at once; the announcement contains their number. The swap of the first slot's word
 * decides for all of them, because no writer claims a sequence that tail has not reached. The owner marks the other slots by
 * plain stores, a helper by swaps from their last lap. Then tail passes all of them in one step, and each is a claim of its own.
 *
 * One writer: the same layout with plain stores. The message is written first and its word is stored READY; then tail follows.
 * A loan becomes visible as CLAIMED, because later messages may be committed before it.
 *
 * Commit is a release store of READY by the owner. A claim becomes GONE if its owner aborts it or is proven dead.
 *
 * The model core/models/claim.pml is checked by Spin.
 */
#include "ring/claim.h"

#include "base/defects.h"
#include "base/error.h"

#define MANY_ATTEMPTS 1000000 /* retries happen under contention; so many mean damaged contents */
#define MANY_RECLAIMS 20000   /* the same; each scans all readers, so tampering must not cause many */

/* A reclaim that does not fail because of others passes at least one slot. */
static uint64_t most_reclaims(const struct slr_segment *s) {
    return s->slot_count + (SLR_DEFECT(reclaims_without_limit) ? UINT64_C(1000000000) : MANY_RECLAIMS);
}

static bool valid_announcement(const struct slr_segment *s, uint64_t size, uint64_t count) {
    return size >= 8 && size % 8 == 0 && count < s->slot_count && size <= s->capacity / count;
}

/* Complete one slot of a claim that starts at i; the slot ends at `right`. False if tail is no longer i: the values read may be
 * newer. */
static bool help_one(const struct slr_segment *s, uint64_t i, uint64_t seq, uint32_t owner, uint64_t right) {
    struct slr_slot *slot = slr_slot_of(s, seq);
    /* Acquire: the load of tail below must come after these, to show that they belong to this lap. */
    uint64_t end = slr_load_acquire(&slot->end), word = slr_load_acquire(&slot->word);
    if (slr_load_acquire(&s->ring->tail) != i) return false;
    SLR_CRASH_POINT("help.before_end");
    if (end != right) slr_cas(&slot->end, end, SLR_DEFECT(helper_stores_other_end) ? right - 8 : right);
    SLR_CRASH_POINT("help.before_word");
    if (SLR_DEFECT(helper_leaves_run_unmarked)) return true;
    if (slr_word_lap(word) != slr_lap(s, seq)) slr_cas(&slot->word, word, slr_word(SLR_CLAIMED, owner, slr_lap(s, seq)));
    return true;
}

/* Finish the claim of slot i, which has lap(i), while tail is (or was) i. */
static int help(const struct slr_segment *s, uint64_t i, uint64_t word) {
    uint32_t owner = slr_word_writer(word);
    if (owner >= s->writer_count && !SLR_DEFECT(claim_of_any_writer))
        return slr_error_damaged("a claim names an impossible writer");
    uint64_t start = slr_start_of(s, i);
    /* Acquire, partner of the owner's release in slr_reserve: with a later announcement this thread sees a later tail, too. */
    uint64_t announced = slr_load_acquire(&s->writer[owner].announced), size = announced & SLR_ANNOUNCED_SIZE, count = (announced >> 48) + 1;
    if (SLR_DEFECT(helper_finishes_first_of_run)) count = 1;
    if (slr_load_acquire(&s->ring->tail) != i) return SLIPRING_OK; /* already finished */
    if (!valid_announcement(s, size, count)) return slr_error_damaged("a claim has an impossible size");
    for (uint64_t k = 0; k < count; k++)
        if (!help_one(s, i, i + k, owner, start + (k + 1) * size)) return SLIPRING_OK;
    SLR_CRASH_POINT("help.before_tail");
    slr_cas(&s->ring->tail, i, i + (SLR_DEFECT(helper_counts_first_of_run) ? 1 : count));
    return SLIPRING_OK;
}

void slr_claimer_help(const struct slr_segment *s) {
    uint64_t tail = slr_load_acquire(&s->ring->tail);
    uint64_t word = slr_load_acquire(&slr_slot_of(s, tail)->word);
    if (s->writers == SLR_MANY && slr_word_lap(word) == slr_lap(s, tail)) help(s, tail, word);
}

void slr_claimer_start(struct slr_claimer *c, const struct slr_segment *s, uint32_t entry) {
    *c = (struct slr_claimer){.s = s, .entry = entry};
    uint64_t tail = slr_load_acquire(&s->ring->tail);
    uint64_t word = slr_load_acquire(&slr_slot_of(s, tail)->word);
    if (!SLR_DEFECT(uncounted_claim_left)) slr_claimer_help(s);
    /* The previous single writer died between the word and tail; it stored the end of the slot before the word. */
    if (s->writers == SLR_ONE && slr_word_lap(word) == slr_lap(s, tail)) slr_store_release(&s->ring->tail, tail + 1);
    SLR_CRASH_POINT("attach.before_abandon");
    if (!SLR_DEFECT(restart_leaves_claims_open)) slr_abandon_claims(s, entry);
    c->tail = slr_load_acquire(&s->ring->tail);
    c->end = slr_start_of(s, c->tail);
    c->freed = slr_load_acquire(&s->ring->freed);
    c->freed_start = slr_start_of(s, c->freed);
}

/* While tail is i, slots i-1 and freed-1 cannot be claimed again. tail is loaded last, so freed and its start belong together.
 * The values are stored: freed only grows, so free memory stays free until this writer uses it. */
static bool refresh_freed(struct slr_claimer *c, uint64_t i) {
    const struct slr_segment *s = c->s;
    uint64_t freed = slr_load_acquire(SLR_DEFECT(writers_trust_oldest) ? &s->ring->oldest : &s->ring->freed);
    uint64_t start = slr_start_of(s, freed);
    if (slr_load_acquire(&s->ring->tail) != i) return false;
    c->freed = freed;
    c->freed_start = start;
    return true;
}

static int claim_many(struct slr_claimer *c, uint64_t size, struct slr_claimed *out) {
    const struct slr_segment *s = c->s;
    uint64_t reclaims = 0;
    for (int attempt = 0; attempt < MANY_ATTEMPTS && reclaims < most_reclaims(s); attempt++) {
        uint64_t i = slr_load_acquire(&s->ring->tail), lap = slr_lap(s, i);
        uint64_t word = slr_load_acquire(&slr_slot_of(s, i)->word), start = slr_start_of(s, i);
        int code = SLIPRING_OK;
        if (slr_word_lap(word) != lap - 1) {
            if (slr_word_lap(word) == lap)
                code = help(s, i, word);
            else if (slr_load_acquire(&s->ring->tail) == i)
                code = slr_error_damaged("a slot carries another lap");
            if (code) return code;
            continue;
        }
        if (!slr_room(s, i, start, size, c->freed, c->freed_start)) {
            if (!refresh_freed(c, i)) continue;
            if (!slr_room(s, i, start, size, c->freed, c->freed_start)) {
                struct slr_need need = {.seq = i, .start = start, .size = size};
                code = slr_reclaim(s, c->entry, &need);
                if (code) return code;
                reclaims++;
                continue;
            }
        }
        if (!slr_reserve(c, i, word, start, size, 1)) continue;
        *out = (struct slr_claimed){.seq = i, .start = start};
        return SLIPRING_OK;
    }
    return slr_error_damaged("no sequence can be claimed");
}

static int claim_one(struct slr_claimer *c, uint64_t size, bool visible, struct slr_claimed *out) {
    const struct slr_segment *s = c->s;
    struct slr_need need = {.seq = c->tail, .start = c->end, .size = size};
    for (uint64_t attempt = 0; !slr_room(s, c->tail, c->end, size, c->freed, c->freed_start); attempt++) {
        int code = attempt < most_reclaims(s) ? slr_reclaim(s, c->entry, &need) : slr_error_damaged("no room can be made");
        if (code) return code;
        c->freed = slr_load_acquire(&s->ring->freed);
        c->freed_start = slr_start_of(s, c->freed);
    }
    *out = (struct slr_claimed){.seq = c->tail, .start = c->end};
    if (!visible) return SLIPRING_OK;
    struct slr_slot *slot = slr_slot_of(s, c->tail);
    slr_fence_release();
    slr_store_relaxed(&slot->end, c->end + size);
    SLR_CRASH_POINT("claim_one.before_word");
    slr_store_release(&slot->word, slr_word(SLR_CLAIMED, c->entry, slr_lap(s, c->tail)));
    SLR_CRASH_POINT("claim_one.before_tail");
    c->tail++;
    c->end += size;
    slr_store_release(&s->ring->tail, c->tail);
    return SLIPRING_OK;
}

int slr_claim(struct slr_claimer *c, uint64_t size, bool visible, struct slr_claimed *out) {
    int code = c->s->writers == SLR_ONE ? claim_one(c, size, visible, out) : claim_many(c, size, out);
    if (code == SLIPRING_OK) slr_fence_release(); /* as in slr_claim_quickly */
    return code;
}

void slr_abort(struct slr_claimer *c, uint64_t seq) {
    enum slr_state state = SLR_DEFECT(aborted_loan_sent) ? SLR_READY : SLR_GONE;
    slr_store_release(&slr_slot_of(c->s, seq)->word, slr_word(state, c->entry, slr_lap(c->s, seq)));
}
