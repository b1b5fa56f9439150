// SPDX-License-Identifier: Apache-2.0
// Clean-up after dead processes: completing claims (7.2 step 3), abandoning (7.4), freeing entries (10, 12).
#include "shared.h"

bool writer_is_dead(const struct topic *t, uint32_t entry)
{
    if (entry >= t->writer_count)
        fail(EXIT_CORRUPT, "a slot names writer %u of %u", entry, t->writer_count);
    return (int)entry != t->own_writer && !is_locked(t->ring_lock, t->writers_at + (uint64_t)entry * WRITER_SIZE);
}

// `seen` was loaded before its owner was found dead, or is a claim of our own entry's last owner.
bool abandon(const struct topic *t, uint64_t seq, uint64_t seen)
{
    uint64_t gone = slot_word(GONE, word_writer(seen), word_lap(seen));
    return swap(slot_of(t, seq) + S_WORD, seen, gone);
}

bool free_if_dead_reader(const struct topic *t, uint32_t entry, uint64_t seen)
{
    return !is_locked(t->readers_lock, t->readers_at + (uint64_t)entry * READER_SIZE)
           && swap(reader_of(t, entry) + R_STATE, seen, entry_next(seen, KIND_FREE));
}

bool free_if_expired_cursor(const struct topic *t, uint32_t entry, uint64_t seen)
{
    const uint8_t *cursor = cursor_of(t, entry);
    int64_t life = (int64_t)get(cursor + C_EXPIRES_NS);
    if (life <= 0 || is_locked(t->readers_lock, t->cursors_at + (uint64_t)entry * CURSOR_SIZE))
        return false;
    int64_t touched = (int64_t)get(cursor + C_TOUCHED_NS), age;
    if (__builtin_sub_overflow(wall_clock_ns(), touched, &age) || age < life)
        return false;
    return swap(cursor_of(t, entry) + C_STATE, seen, entry_next(seen, KIND_FREE));
}

// One slot of a claim from i on. False: `tail` has moved, what was read may be newer.
static bool finish(const struct topic *t, uint64_t i, uint64_t seq, uint32_t owner, uint64_t right)
{
    uint8_t *slot = slot_of(t, seq);
    uint64_t end = get(slot + S_END), word = get(slot + S_WORD);
    if (get(t->ring + RH_TAIL) != i)
        return false;
    if (end != right)
        swap(slot + S_END, end, right);
    if (word_lap(word) != lap_of(t, seq))
        swap(slot + S_WORD, word, slot_word(CLAIMED, owner, lap_of(t, seq)));
    return true;
}

// Completes the claim of i that the word records, while `tail` has not moved. False: the topic is damaged.
bool help(const struct topic *t, uint64_t i, uint64_t word)
{
    if (word_writer(word) >= t->writer_count)
        return false;
    uint64_t start = get(slot_of(t, i - 1) + S_END), want = get(writer_of(t, word_writer(word)) + W_ANNOUNCED);
    uint64_t size = want & 0xffffffffffff, count = (want >> 48) + 1;
    if (get(t->ring + RH_TAIL) != i)
        return true;
    if (size == 0 || size % 8 != 0 || count >= t->slot_count || count * size > t->capacity)
        return false;
    for (uint64_t k = 0; k < count; k++)
        if (!finish(t, i, i + k, word_writer(word), start + (k + 1) * size))
            return true;
    step("help.end");
    swap(t->ring + RH_TAIL, i, i + count);
    return true;
}

static void sweep_claims(const struct topic *t)
{
    uint64_t tail = get(t->ring + RH_TAIL), word = get(slot_of(t, tail) + S_WORD);
    if (!t->one_writer && word_lap(word) == lap_of(t, tail) && !help(t, tail, word))
        fail(EXIT_CORRUPT, "a claim that cannot be finished");
    tail = get(t->ring + RH_TAIL);
    for (uint64_t seq = get(t->ring + RH_FREED), steps = 0; seq != tail && steps < t->slot_count; seq++, steps++) {
        word = get(slot_of(t, seq) + S_WORD);
        if (word_state(word) == CLAIMED && word_lap(word) == lap_of(t, seq) && writer_is_dead(t, word_writer(word)))
            abandon(t, seq, word);
    }
}

static bool sweep_writers(const struct topic *t)
{
    bool freed = false;
    for (uint32_t e = 0; e < t->writer_count; e++) {
        uint64_t state = get(writer_of(t, e) + W_STATE);
        if (entry_kind(state) != KIND_FREE && writer_is_dead(t, e))
            freed |= swap(writer_of(t, e) + W_STATE, state, entry_next(state, KIND_FREE));
    }
    return freed;
}

void sweep(const struct topic *t, bool may_write_ring)
{
    bool writers_freed = false, readers_freed = false;
    if (may_write_ring) {
        sweep_claims(t);
        step("sweep.claims");
        writers_freed = sweep_writers(t);
    }
    for (uint32_t e = 0, high = lower(get32(t->readers + DH_HIGH_READER), t->reader_count); e < high; e++) {
        uint64_t state = get(reader_of(t, e) + R_STATE);
        if (entry_kind(state) != KIND_FREE)
            readers_freed |= free_if_dead_reader(t, e, state);
    }
    for (uint32_t e = 0, high = lower(get32(t->readers + DH_HIGH_CURSOR), t->cursor_count); e < high; e++) {
        uint64_t state = get(cursor_of(t, e) + C_STATE);
        if (entry_kind(state) == KIND_CURSOR)
            readers_freed |= free_if_expired_cursor(t, e, state);
    }
    full_fence();
    if (writers_freed)
        wake(t->readers + DH_WAKE);
    if (readers_freed)
        wake(t->readers + DH_SPACE);
}
