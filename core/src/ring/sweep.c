/* SPDX-License-Identifier: Apache-2.0
 *
 * Sweep: removing what dead processes have left in the tables and in the ring, and expired cursors. Done when a process attaches
 * and by `slipring doctor`. A writer that needs room frees single entries in its way by the same functions (reclaim.c).
 *
 * It needs no lock. The word of a claim identifies that claim forever. If the word is CLAIMED and then the entry of its
 * owner is unlocked, the owner is dead, and the word is swapped to GONE from exactly that value. An entry is freed by a swap from
 * exactly the state, with its incarnation, that was read before its owner was found dead. The model
 * core/models/registration.pml is checked by Spin.
 */
#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "ring/claim.h"
#include "ring/ring.h"
#include "topic/peers.h"
#include "wait/futex.h"

/* Claims ----------------------------------------------------------------------------------------------------- */

/* Return the sequences whose claims tail counts. A claim that tail does not count yet has no successor; help finishes it first. */
static void claim_range(const struct slr_segment *s, uint64_t *from, uint64_t *to) {
    *to = slr_load_acquire(&s->ring->tail);
    *from = slr_load_acquire(&s->ring->freed);
    if (*to - *from > s->slot_count) *from = *to > s->slot_count ? *to - s->slot_count : 0;
}

static bool open_claim(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    *word = slr_load_acquire(&slr_slot_of(s, seq)->word);
    return slr_word_state(*word) == SLR_CLAIMED && slr_word_lap(*word) == slr_lap(s, seq);
}

static void abandon(const struct slr_segment *s, uint64_t seq, uint64_t word) {
    slr_cas(&slr_slot_of(s, seq)->word, word, slr_word(SLR_GONE, slr_word_writer(word), slr_word_lap(word)));
    SLR_CRASH_POINT("sweep.abandoned");
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

/* Entries ---------------------------------------------------------------------------------------------------- */

uint32_t slr_sweep_writers(const struct slr_segment *s) {
    uint32_t swept = 0;
    if (!SLR_DEFECT(uncounted_claim_left)) slr_claimer_help(s);
    abandon_dead_claims(s);
    for (uint32_t e = 0; e < s->writer_count; e++) {
        uint64_t state = slr_load_acquire(&s->writer[e].state);
        if (slr_kind_is(state, SLR_KIND_FREE) || !slr_writer_dead(s, e)) continue;
        SLR_CRASH_POINT("sweep.before_writer");
        if (swept && SLR_DEFECT(sweep_stops_at_first)) continue;
        swept += slr_cas(&s->writer[e].state, state, slr_kind_next(state, SLR_KIND_FREE));
    }
    slr_fence_seq_cst();
    if (swept) slr_wake_sleepers(&s->readers->wake); /* messages behind their claims are readable now */
    return swept;
}

/* Lift the hold of a dead reader: free its entry by one compare-and-swap from exactly the state that was read. A new owner
 * has another incarnation. */
bool slr_sweep_reader(const struct slr_segment *s, uint32_t entry, uint64_t state) {
    if (!slr_reader_dead(s, entry)) return false;
    slr_cas(&s->reader[entry].state, state, slr_kind_next(state, SLR_KIND_FREE));
    return true;
}

uint32_t slr_sweep_readers(const struct slr_segment *s) {
    uint32_t swept = 0;
    for (uint32_t e = 0; e < s->reader_count; e++) {
        uint64_t state = slr_load_acquire(&s->reader[e].state);
        if (!slr_kind_is(state, SLR_KIND_FREE) && slr_sweep_reader(s, e, state)) swept++;
    }
    slr_fence_seq_cst();
    if (swept) slr_wake_sleepers(&s->readers->space);
    return swept;
}

/* Check the lock first, then the times: a reader that has just detached touched its cursor before it released the lock. A reader
 * that attaches at the same time swaps the state, too (cursor.c), and one of the two swaps fails. */
bool slr_expire_cursor(const struct slr_segment *s, uint32_t entry, uint64_t state) {
    struct slr_cursor *c = &s->cursor[entry];
    if (slr_load_relaxed(&c->expires_ns) <= 0 || slr_cursor_attached(s, entry)) return false;
    /* Valid for any contents: the unsigned difference wraps, and after the clock was set back the cursor has not expired. */
    uint64_t idle_ns = SLR_DEFECT(cursor_age_overflows)
                           ? (uint64_t)(slr_clock_realtime_ns() - slr_load_acquire(&c->touched_ns))
                           : (uint64_t)slr_clock_realtime_ns() - (uint64_t)slr_load_acquire(&c->touched_ns);
    if (SLR_DEFECT(clock_set_back_expires_cursors) && idle_ns > INT64_MAX) idle_ns = INT64_MAX;
    if ((int64_t)idle_ns < slr_load_relaxed(&c->expires_ns)) return false;
    return slr_cas(&c->state, state, slr_kind_next(state, SLR_KIND_FREE));
}

void slr_sweep_cursors(const struct slr_segment *s) {
    for (uint32_t e = 0; e < s->cursor_count; e++) {
        uint64_t state = slr_load_acquire(&s->cursor[e].state);
        if (slr_kind_is(state, SLR_KIND_CURSOR)) slr_expire_cursor(s, e, state);
    }
}

int slipring_topic_sweep(const char *bus, const char *topic, uint32_t *swept) {
    struct slr_segment *s;
    int code = slr_segment_open(bus, topic, SLR_PUBLISH, &s);
    if (code) return code;
    *swept = slr_sweep_writers(s) + slr_sweep_readers(s);
    slr_segment_close(s);
    return SLIPRING_OK;
}
