/* SPDX-License-Identifier: Apache-2.0
 *
 * Sweeping: what the dead left in the tables and the ring. Done at every attach, and by `slipring doctor`.
 *
 * No lock is needed. A claim's word names that claim for ever: seen CLAIMED, then its owner's entry seen unlocked, it can
 * only belong to the dead, and is swapped to GONE from exactly that word. An entry is freed by a swap from exactly the
 * state (incarnation and all) that was seen before its owner was seen dead. A model of it is checked by spin:
 * core/models/registration.pml.
 */
#include "claim.h"
#include "clock.h"
#include "defects.h"
#include "peers.h"
#include "points.h"
#include "ring.h"
#include "wait.h"

/* Sequences whose claims are counted in tail. One that is not yet has nobody behind it, and is finished first (help). */
static void claim_range(const struct slr_segment *s, uint64_t *from, uint64_t *to) {
    *to = slr_observe(&s->ring->tail);
    *from = slr_observe(&s->ring->freed);
    if (*to - *from > s->slot_count) *from = *to > s->slot_count ? *to - s->slot_count : 0;
}

static bool open_claim(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    *word = slr_observe(&slr_slot_of(s, seq)->word);
    return slr_word_state(*word) == SLR_CLAIMED && slr_word_lap(*word) == slr_lap(s, seq);
}

static void abandon(const struct slr_segment *s, uint64_t seq, uint64_t word) {
    slr_swap_if(&slr_slot_of(s, seq)->word, word, slr_word(SLR_GONE, slr_word_writer(word), slr_word_lap(word)));
    SLR_POINT("sweep.abandoned");
}

void slr_abandon_claims(const struct slr_segment *s, uint32_t entry) {
    uint64_t seq, end, word;
    for (claim_range(s, &seq, &end); seq != end; seq++)
        if (open_claim(s, seq, &word) && slr_word_writer(word) == entry) abandon(s, seq, word);
}

static void abandon_dead_claims(const struct slr_segment *s) {
    uint64_t seq, end, word;
    for (claim_range(s, &seq, &end); seq != end; seq++)
        if (open_claim(s, seq, &word) && slr_writer_dead(s, slr_word_writer(word))) abandon(s, seq, word);
}

uint32_t slr_sweep_writers(const struct slr_segment *s) {
    uint32_t swept = 0;
    if (!SLR_DEFECT(uncounted_claim_left)) slr_claimer_help(s);
    abandon_dead_claims(s);
    for (uint32_t e = 0; e < s->writer_count; e++) {
        uint64_t state = slr_observe(&s->writer[e].state);
        if (slr_kind_is(state, SLR_KIND_FREE) || !slr_writer_dead(s, e)) continue;
        SLR_POINT("sweep.before_writer");
        if (swept && SLR_DEFECT(sweep_stops_at_first)) continue;
        swept += slr_swap_if(&s->writer[e].state, state, slr_kind_next(state, SLR_KIND_FREE));
    }
    slr_fence_full();
    if (swept) slr_wake_sleepers(&s->readers->wake); /* what stood behind their claims is readable now */
    return swept;
}

uint32_t slr_sweep_readers(const struct slr_segment *s) {
    uint32_t swept = 0;
    for (uint32_t e = 0; e < s->reader_count; e++) {
        uint64_t state = slr_observe(&s->reader[e].state);
        if (!slr_kind_is(state, SLR_KIND_FREE) && slr_sweep_reader(s, e, state)) swept++;
    }
    slr_fence_full();
    if (swept) slr_wake_sleepers(&s->readers->space);
    return swept;
}

/* The lock first, then the times: a reader that has just detached has touched its cursor before it let go. One that attaches
 * meanwhile swaps the state, too (cursor.c): one of us fails. */
bool slr_expire_cursor(const struct slr_segment *s, uint32_t entry, uint64_t state) {
    struct slr_cursor *c = &s->cursor[entry];
    if (slr_peek(&c->expires_ns) <= 0 || slr_cursor_attached(s, entry)) return false;
    /* Whatever stands there: the difference of two times wraps, and a clock that was set back has not run out. */
    uint64_t idle_ns = SLR_DEFECT(cursor_age_overflows)
                           ? (uint64_t)(slr_clock_realtime_ns() - slr_observe(&c->touched_ns))
                           : (uint64_t)slr_clock_realtime_ns() - (uint64_t)slr_observe(&c->touched_ns);
    if (SLR_DEFECT(clock_set_back_expires_cursors) && idle_ns > INT64_MAX) idle_ns = INT64_MAX;
    if ((int64_t)idle_ns < slr_peek(&c->expires_ns)) return false;
    return slr_swap_if(&c->state, state, slr_kind_next(state, SLR_KIND_FREE));
}

void slr_sweep_cursors(const struct slr_segment *s) {
    for (uint32_t e = 0; e < s->cursor_count; e++) {
        uint64_t state = slr_observe(&s->cursor[e].state);
        if (slr_kind_is(state, SLR_KIND_CURSOR)) slr_expire_cursor(s, e, state);
    }
}
