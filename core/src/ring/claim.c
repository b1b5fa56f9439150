/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: how a writer gets the next sequence and its memory.
 *
 * Many writers, lock-free with helping. tail = i is the next sequence. A writer announces in its table entry how many
 * bytes it wants and then swaps slot i's word from its last lap to {CLAIMED, itself, lap of i}. That one swap decides
 * who owns i, and with the announced size, which stays as it is until tail has passed i, also where i ends. Whoever
 * finds slot i claimed while tail is still i finishes the claim for its owner: end[i] = end[i-1] + announced size, by a
 * swap from the old value (positions never repeat, so a late helper fails), then tail from i to i+1. So a writer that
 * dies or stops between any two steps holds up nobody, and there is no instant at which a reserved sequence has no
 * known owner.
 *
 * A run of messages of one size is claimed at once: the announcement also says how many. The swap of the first slot's
 * word decides over all, since nobody claims a sequence that tail has not reached. The owner marks the others by plain
 * stores, a helper by swaps from their last lap; then tail passes all of them in one move, and each is a claim by itself.
 *
 * One writer: the same layout by plain stores. A message is written first and its word stored READY; tail follows. A
 * loan is made visible as CLAIMED, since later messages may be committed before it.
 *
 * Commit is a release store of READY by the owner; a claim ends GONE if its owner aborts it or is proven dead.
 *
 * A model of it is checked by spin: core/models/claim.pml.
 */
#include "ring/claim.h"

#include "base/defects.h"
#include "base/error.h"

#define MANY_ATTEMPTS 1000000 /* retries are for contention; this many mean damaged contents */
#define MANY_RECLAIMS 20000   /* the same, and each looks at all readers: hostile hands must not keep us for long */

/* A reclaim that does not lose to others passes one slot at least. */
static uint64_t most_reclaims(const struct slr_segment *s) {
    return s->slot_count + (SLR_DEFECT(reclaims_without_limit) ? UINT64_C(1000000000) : MANY_RECLAIMS);
}

static bool valid_announcement(const struct slr_segment *s, uint64_t size, uint64_t count) {
    return size >= 8 && size % 8 == 0 && count < s->slot_count && size <= s->capacity / count;
}

/* One slot of a claim from i on that ends at `right`; false if tail is no longer i: what we read may be newer. */
static bool help_one(const struct slr_segment *s, uint64_t i, uint64_t seq, uint32_t owner, uint64_t right) {
    struct slr_slot *slot = slr_slot_of(s, seq);
    /* Acquire: so that the look at tail below says of which lap they are. */
    uint64_t end = slr_load_acquire(&slot->end), word = slr_load_acquire(&slot->word);
    if (slr_load_acquire(&s->ring->tail) != i) return false;
    SLR_CRASH_POINT("help.before_end");
    if (end != right) slr_cas(&slot->end, end, SLR_DEFECT(helper_stores_other_end) ? right - 8 : right);
    SLR_CRASH_POINT("help.before_word");
    if (SLR_DEFECT(helper_leaves_run_unmarked)) return true;
    if (slr_word_lap(word) != slr_lap(s, seq)) slr_cas(&slot->word, word, slr_word(SLR_CLAIMED, owner, slr_lap(s, seq)));
    return true;
}

/* Slot i carries lap(i), tail is (or was) still i. */
static int help(const struct slr_segment *s, uint64_t i, uint64_t word) {
    uint32_t owner = slr_word_writer(word);
    if (owner >= s->writer_count && !SLR_DEFECT(claim_of_any_writer))
        return slr_error_damaged("a claim names an impossible writer");
    uint64_t start = slr_start_of(s, i);
    /* Acquire, partner of the owner's release: a want of a later claim comes with a later tail. */
    uint64_t announced = slr_load_acquire(&s->writer[owner].want), size = announced & SLR_ANNOUNCED_SIZE, count = (announced >> 48) + 1;
    if (SLR_DEFECT(helper_finishes_first_of_run)) count = 1;
    if (slr_load_acquire(&s->ring->tail) != i) return SLIPRING_OK; /* finished meanwhile */
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
    /* The one writer before us died between a word and its tail; the slot's end was stored before its word. */
    if (s->writers == SLR_ONE && slr_word_lap(word) == slr_lap(s, tail)) slr_store_release(&s->ring->tail, tail + 1);
    SLR_CRASH_POINT("attach.before_abandon");
    if (!SLR_DEFECT(restart_leaves_claims_open)) slr_abandon_claims(s, entry);
    c->tail = slr_load_acquire(&s->ring->tail);
    c->end = slr_start_of(s, c->tail);
    c->freed = slr_load_acquire(&s->ring->freed);
    c->freed_start = slr_start_of(s, c->freed);
}

/* While tail is i neither slot i-1 nor slot freed-1 can have been claimed anew: so, with tail looked at last, freed and
 * where it begins belong together. Kept: freed only grows, what was free stays so for us until we use it. */
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
