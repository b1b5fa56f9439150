// SPDX-License-Identifier: Apache-2.0
// Making room in a full ring: section 8. First `oldest` moves. Then, after a fence and a check of all holds,
// `freed` moves.
#include "shared.h"

// Sequences and positions are compared by the sign of their difference: they wrap at 2^64.
static bool at_or_after(uint64_t a, uint64_t b) { return (int64_t)(a - b) >= 0; }

#define STALE UINT64_MAX // no sequence

struct wanted {
    uint64_t i, start, size;
    bool ask; // the second round: dead readers and expired cursors in the way are freed
};

static uint64_t below_readers(const struct topic *t, uint64_t limit, bool only_reliable, bool ask)
{
    uint64_t freed = get(t->ring + RH_FREED);
    uint32_t high = lower(get32(t->readers + DH_HIGH_READER), t->reader_count);
    for (uint32_t e = 0; e < high; e++) {
        uint64_t state = get(reader_of(t, e) + R_STATE);
        unsigned kind = entry_kind(state);
        if (kind == KIND_FREE || (only_reliable && kind != KIND_RELIABLE))
            continue;
        uint64_t hold = get(reader_of(t, e) + R_HOLD);
        if (hold >= limit || (kind != KIND_RELIABLE && hold < freed))
            continue; // not in the way, or never granted
        if (ask && free_if_dead_reader(t, e, state))
            continue;
        limit = hold;
    }
    return limit;
}

static uint64_t below_cursors(const struct topic *t, uint64_t limit, bool ask)
{
    uint32_t high = lower(get32(t->readers + DH_HIGH_CURSOR), t->cursor_count);
    for (uint32_t e = 0; e < high && t->reliable; e++) {
        uint64_t state = get(cursor_of(t, e) + C_STATE);
        if (entry_kind(state) != KIND_CURSOR)
            continue;
        uint64_t position = get(cursor_of(t, e) + C_POSITION);
        if (position >= limit || (ask && free_if_expired_cursor(t, e, state)))
            continue;
        limit = position;
    }
    return limit;
}

static bool enough_is_free(const struct topic *t, const struct wanted *want, uint64_t seq)
{
    return at_or_after(seq, want->i + 2 - t->slot_count + t->slot_count / 16)
           && at_or_after(get(slot_of(t, seq - 1) + S_END), want->start + want->size - t->capacity + t->capacity / 16);
}

// Step 2: how far `oldest` may go from o, or STALE.
static uint64_t walk(const struct topic *t, const struct wanted *want, uint64_t o, uint64_t limit)
{
    uint64_t seq = o;
    for (uint64_t steps = 0; seq < limit && steps < t->slot_count / 2; seq++, steps++) {
        if (enough_is_free(t, want, seq))
            break;
        uint64_t word = get(slot_of(t, seq) + S_WORD);
        if (word_lap(word) != lap_of(t, seq))
            return STALE;
        if (word_state(word) != CLAIMED)
            continue;
        if (!writer_is_dead(t, word_writer(word)))
            break;
        if (!abandon(t, seq, word))
            seq--; // settled meanwhile, by its owner or another reclaimer: look again, as one more step
    }
    return seq;
}

// False: `oldest` is no longer o. A swap that fails is tried again: who made it may be late, with an older value.
static bool set_while_oldest(const struct topic *t, uint8_t *at, uint64_t value, uint64_t o)
{
    for (unsigned attempt = 0; attempt < ENDLESS; attempt++) {
        uint64_t old = get(at);
        if (get(t->ring + RH_OLDEST) != o)
            return false;
        if (old == value || swap(at, old, value))
            return true;
    }
    return false;
}

// Step 3: record what is passed, then pass it.
static void pass(const struct topic *t, uint64_t o, uint64_t b)
{
    uint64_t p = get(passed_of(t, o)), gone = 0;
    for (uint64_t seq = o; seq != b; seq++) {
        if (word_state(get(slot_of(t, seq) + S_WORD)) != GONE)
            continue;
        if (!set_while_oldest(t, abandoned_of(t, p - o + gone), seq, o))
            return;
        gone++;
    }
    step("reclaim.abandoned");
    if (!set_while_oldest(t, passed_of(t, b), p + (b - o) + gone, o))
        return;
    step("reclaim.passed");
    swap(t->ring + RH_OLDEST, o, b);
    step("reclaim.oldest");
}

static bool reclaim_once(const struct topic *t, const struct wanted *want)
{
    uint64_t o = get(t->ring + RH_OLDEST), f = get(t->ring + RH_FREED), limit = want->i;
    if (t->reliable)
        limit = below_cursors(t, below_readers(t, limit, true, want->ask), want->ask);
    uint64_t b = walk(t, want, o, limit);
    if (b != o && b != STALE)
        pass(t, o, b);
    limit = get(t->ring + RH_OLDEST);
    full_fence();
    limit = below_cursors(t, below_readers(t, limit, false, want->ask), want->ask);
    for (uint64_t freed = get(t->ring + RH_FREED); freed < limit; freed = get(t->ring + RH_FREED))
        swap(t->ring + RH_FREED, freed, limit);
    step("reclaim.freed");
    bool moved = get(t->ring + RH_OLDEST) != o || get(t->ring + RH_FREED) != f;
    if (!moved && b == STALE && get(t->ring + RH_TAIL) == want->i)
        fail(EXIT_CORRUPT, "a slot from %llu on does not carry its sequence", (unsigned long long)o);
    return moved;
}

// False: nothing moved, though everybody in the way was asked. i, start and size are of the claim that needs room.
bool reclaim(const struct topic *t, uint64_t i, uint64_t start, uint64_t size)
{
    struct wanted want = {i, start, size, false};
    if (reclaim_once(t, &want))
        return true;
    want.ask = true;
    return reclaim_once(t, &want);
}
