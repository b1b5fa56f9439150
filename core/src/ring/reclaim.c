/* SPDX-License-Identifier: Apache-2.0
 *
 * Reclaim: making room for the next message.
 *
 * Two limits only grow, both by compare-and-swap. A reclaimer may die between any two steps; the next one continues:
 *
 *   oldest  the lowest sequence that may be read without a hold. It is moved first, in strides of a sixteenth of the ring:
 *           readers validate against it, and a stride keeps its cache line with them. It never passes a reliable reader, a
 *           cursor, or a claim whose owner may still commit it.
 *   freed   the lowest sequence whose memory may not be reused. It follows oldest only after a full fence and a scan of *all*
 *           holds. A reader publishes its hold, fences, and checks oldest. So either the reclaimer sees the hold, or the
 *           reader sees the new oldest. Claims test freed, never oldest.
 *
 * Sequences may be abandoned, and a lapped reader must know how many *messages* it lost. So before oldest becomes b, a
 * reclaimer stores
 *
 *   passed[b % slots] = b + n, where n is the number of abandoned sequences below b, and
 *   abandoned[j % slots] = the j-th abandoned sequence, for each one that it passes.
 *
 * The settled slots below b determine both, and both only grow. b is in the first value because n may stay the same. So
 * a value never repeats in its field, and the compare-and-swap of a stale reclaimer fails. loss.c is the reading side.
 *
 * The model core/models/reclaim.pml of oldest, freed and the holds is checked by Spin.
 */
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ring/ring.h"
#include "topic/peers.h"

#define ATTEMPTS 1000 /* a swap fails only if another one succeeds; so many failures mean tampering */

static uint32_t clamp(uint32_t value, uint32_t most) {
    return value < most || SLR_DEFECT(table_sizes_not_clamped) ? value : most;
}

/* Return the lowest sequence, at most limit, that must not be passed (reliable_only) or reused. With check_alive, which costs
 * a system call for each hold, holds of dead readers and expired cursors are lifted. */
static uint64_t lowest_hold(const struct slr_segment *s, bool reliable_only, bool check_alive, uint64_t limit) {
    uint64_t freed = slr_load_acquire(&s->ring->freed);
    uint32_t readers = clamp(slr_load_acquire(&s->readers->high_reader), s->reader_count);
    for (uint32_t e = 0; e < readers; e++) {
        uint64_t state = slr_load_acquire(&s->reader[e].state);
        if (slr_kind_is(state, SLR_KIND_FREE)) continue;
        if (reliable_only && !slr_kind_is(state, SLR_KIND_RELIABLE)) continue;
        /* Acquire: the reader has copied what it passed before that memory is reused. */
        uint64_t hold = slr_load_acquire(&s->reader[e].hold);
        /* A hold below freed is not valid: its reader will find oldest beyond it. The value 0 of a reliable reader means that
         * it is choosing its start. */
        if (hold < freed && !slr_kind_is(state, SLR_KIND_RELIABLE)) continue;
        bool sweeps = check_alive && (!SLR_DEFECT(dead_holds_kept) || hold < freed);
        if (hold >= limit || (sweeps && slr_sweep_reader(s, e, state))) continue;
        limit = hold;
    }
    if (s->delivery != SLR_RELIABLE) return limit;
    uint32_t cursors = clamp(slr_load_acquire(&s->readers->high_cursor), s->cursor_count);
    for (uint32_t e = 0; e < cursors; e++) {
        uint64_t state = slr_load_acquire(&s->cursor[e].state);
        if (!slr_kind_is(state, SLR_KIND_CURSOR)) continue;
        uint64_t hold = slr_load_acquire(&s->cursor[e].position);
        if (hold >= limit || (check_alive && slr_expire_cursor(s, e, state))) continue;
        limit = hold;
    }
    return limit;
}

/* Return whether the claim is settled: committed, or abandoned because its owner is dead. */
static bool settle(const struct slr_segment *s, uint32_t self, struct slr_slot *slot, uint64_t word, bool *gone) {
    *gone = slr_word_state(word) == SLR_GONE;
    if (slr_word_state(word) != SLR_CLAIMED) return true;
    uint32_t owner = slr_word_writer(word);
    if (owner == self || !slr_writer_dead(s, owner)) return false;
    /* The word identifies one claim forever, so this cannot affect a claim of the next owner. */
    *gone = slr_cas(&slot->word, word, slr_word(SLR_GONE, owner, slr_word_lap(word)));
    SLR_CRASH_POINT("reclaim.abandoned");
    return *gone;
}

struct walk {
    uint64_t to, abandoned;
    bool stale;
};

struct goal {
    uint64_t seq, position; /* 0: enough of these */
};

static struct walk walk_settled(const struct slr_segment *s, uint32_t self, uint64_t from, uint64_t limit,
                                struct goal goal) {
    /* Copies: the compiler would read the fields again after every shared access. */
    struct slr_slot *const slots = s->slot;
    const uint64_t mask = s->slot_mask, shift = s->slot_shift;
    struct walk w = {.to = from};
    if (limit > from && limit - from > s->slot_count / 2) limit = from + s->slot_count / 2;
    for (; w.to < limit; w.to++) {
        if (w.to >= goal.seq && (int64_t)(slr_load_acquire(&slots[(w.to - 1) & mask].end) - goal.position) >= 0) break;
        struct slr_slot *slot = &slots[w.to & mask];
        uint64_t word = slr_load_acquire(&slot->word);
        bool gone = false;
        w.stale = slr_word_lap(word) != (w.to >> shift) + 1;
        if (w.stale || (slr_word_state(word) != SLR_READY && !settle(s, self, slot, word, &gone))) break;
        w.abandoned += gone;
    }
    return w;
}

/* Store a value that is valid while oldest is `from`; false if oldest has moved. */
static bool record(const struct slr_segment *s, uint64_t from, _Atomic uint64_t *target, uint64_t value) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t old = slr_load_acquire(target);
        if (slr_load_acquire(&s->ring->oldest) != from) return false;
        if (old == value || slr_cas(target, old, value)) return true;
    }
    return false;
}

static bool record_abandoned(const struct slr_segment *s, uint64_t from, uint64_t to, uint64_t index) {
    for (uint64_t seq = from; seq < to; seq++) {
        if (slr_word_state(slr_load_acquire(&slr_slot_of(s, seq)->word)) != SLR_GONE) continue;
        if (!record(s, from, &s->abandoned[index++ & s->slot_mask], seq)) return false;
        SLR_CRASH_POINT("reclaim.recorded_abandoned");
    }
    return true;
}

static bool record_walk(const struct slr_segment *s, uint64_t from, const struct walk *w) {
    uint64_t passed = slr_load_acquire(&s->passed[from & s->slot_mask]);
    if (w->abandoned && !record_abandoned(s, from, w->to, passed - from)) return false;
    return record(s, from, &s->passed[w->to & s->slot_mask], passed + (w->to - from) + w->abandoned);
}

static void advance_freed(const struct slr_segment *s, bool check_alive) {
    uint64_t oldest = slr_load_acquire(&s->ring->oldest);
    /* Partner: the fence between publishing a hold and checking oldest (slipring_subscriber_hold, own_entry). */
    slr_fence_seq_cst();
    uint64_t limit = SLR_DEFECT(holds_ignored) ? oldest : lowest_hold(s, false, check_alive, oldest);
    uint64_t freed = slr_load_acquire(&s->ring->freed);
    SLR_CRASH_POINT("reclaim.before_freed");
    for (int attempt = 0; freed < limit && attempt < ATTEMPTS; attempt++) {
        if (slr_cas(&s->ring->freed, freed, limit)) break;
        freed = slr_load_acquire(&s->ring->freed);
    }
}

static bool has_room(const struct slr_segment *s, const struct slr_need *need) {
    uint64_t freed = slr_load_acquire(&s->ring->freed);
    return slr_room(s, need->seq, need->start, need->size, freed, slr_start_of(s, freed));
}

bool slr_readers_passed(const struct slr_segment *s, uint64_t slots, uint64_t bytes) {
    uint64_t tail = slr_load_acquire(&s->ring->tail), hold = lowest_hold(s, false, false, tail);
    return tail - hold + slots < s->slot_count && slr_start_of(s, tail) - slr_start_of(s, hold) + bytes <= s->capacity;
}

/* Return how far oldest should move: one stride more than needed, of slots or of payload, whichever is short. */
static struct goal goal_of(const struct slr_segment *s, const struct slr_need *need) {
    uint64_t freed = slr_load_acquire(&s->ring->freed);
    struct goal goal = {0, 0};
    if (need->seq - freed >= s->slot_count - 1) goal.seq = need->seq + 2 - s->slot_count + s->slot_count / 16;
    if (need->start + need->size - slr_start_of(s, freed) > s->capacity)
        goal.position = need->start + need->size - s->capacity + s->capacity / 16;
    return goal;
}

/* Make one round; SLIPRING_FULL if nothing moved. */
static int reclaim_round(const struct slr_segment *s, uint32_t self, const struct slr_need *need, bool check_alive) {
    uint64_t oldest = slr_load_acquire(&s->ring->oldest);
    uint64_t limit = need->seq;
    if (s->delivery == SLR_RELIABLE) limit = lowest_hold(s, true, check_alive, limit);
    struct walk w = walk_settled(s, self, oldest, limit, goal_of(s, need));
    if (!w.stale && w.to > oldest && (SLR_DEFECT(abandoned_recorded_late) || record_walk(s, oldest, &w))) {
        SLR_CRASH_POINT("reclaim.before_oldest");
        if (SLR_DEFECT(freed_before_oldest)) slr_cas(&s->ring->freed, slr_load_acquire(&s->ring->freed), w.to);
        slr_cas(&s->ring->oldest, oldest, w.to);
        if (SLR_DEFECT(abandoned_recorded_late))
            slr_store_relaxed(&s->passed[w.to & s->slot_mask],
                     slr_load_acquire(&s->passed[oldest & s->slot_mask]) + (w.to - oldest) + w.abandoned);
    }
    SLR_CRASH_POINT("reclaim.after_oldest");
    advance_freed(s, check_alive);
    if (has_room(s, need) || slr_load_acquire(&s->ring->oldest) != oldest) return SLIPRING_OK;
    if (slr_load_acquire(&s->ring->tail) != need->seq) return SLIPRING_OK; /* overtaken: claim again */
    return w.stale ? SLIPRING_CORRUPT : SLIPRING_FULL;
}

int slr_reclaim(const struct slr_segment *s, uint32_t self, const struct slr_need *need) {
    int code = reclaim_round(s, self, need, false);
    if (code == SLIPRING_FULL) code = reclaim_round(s, self, need, true);
    if (code == SLIPRING_CORRUPT)
        return slr_error(code, "topic", "a slot does not carry its sequence: the topic is damaged, remove it");
    if (code == SLIPRING_FULL)
        return slr_error(code, "timeout",
                         "the ring is full: a reader, a held message or a claim occupies it; wait longer (timeout=) "
                         "or make the topic larger (capacity=, slots=)");
    return code;
}
