// SPDX-License-Identifier: Apache-2.0
// Publishing: section 7. Many writers claim by one swap and help each other; one writer stores what it knows.
#include <string.h>
#include <unistd.h>
#include "shared.h"

enum { FIRST_SLICE_NS = 500000, LAST_SLICE_NS = 10000000 };

static bool take_entry(struct publisher *p, bool only_free)
{
    struct topic *t = p->topic;
    for (uint32_t e = 0; e < t->writer_count; e++) {
        bool is_free = entry_kind(get(writer_of(t, e) + W_STATE)) == KIND_FREE;
        if ((is_free || !only_free) && lock_byte(t->ring_lock, t->writers_at + (uint64_t)e * WRITER_SIZE)) {
            p->entry = e;
            t->own_writer = (int)e;
            return true;
        }
    }
    return false;
}

// 7.1 steps 3 and 4: what the entry's last owner left unfinished.
static void settle_last_owner(struct publisher *p)
{
    struct topic *t = p->topic;
    uint64_t tail = get(t->ring + RH_TAIL), word = get(slot_of(t, tail) + S_WORD);
    if (word_lap(word) == lap_of(t, tail)) {
        if (t->one_writer)
            put(t->ring + RH_TAIL, tail + 1);
        else if (!help(t, tail, word))
            fail(EXIT_CORRUPT, "a claim that cannot be finished");
    }
    tail = get(t->ring + RH_TAIL);
    for (uint64_t seq = get(t->ring + RH_FREED), steps = 0; seq != tail && steps < t->slot_count; seq++, steps++) {
        word = get(slot_of(t, seq) + S_WORD);
        if (word_state(word) == CLAIMED && word_writer(word) == p->entry && word_lap(word) == lap_of(t, seq))
            abandon(t, seq, word);
    }
}

void publisher_attach(struct publisher *p, struct topic *t, const char *sender)
{
    *p = (struct publisher){.topic = t, .sender = sender};
    sweep(t, true);
    if (!take_entry(p, true) && !take_entry(p, false))
        fail(EXIT_BUSY, t->one_writer ? "another publisher" : "the writer table is full of the living");
    step("attach.locked");
    settle_last_owner(p);
    step("attach.settled");
    uint8_t *entry = writer_of(t, p->entry);
    size_t name_size = strlen(sender) < W_NAME_BYTES ? strlen(sender) : W_NAME_BYTES;
    memset(entry + W_NAME, 0, W_NAME_BYTES);
    memcpy(entry + W_NAME, sender, name_size);
    *(uint32_t *)(entry + W_NAME_SIZE) = (uint32_t)name_size;
    *(uint32_t *)(entry + W_PID) = (uint32_t)getpid();
    poke(entry + W_PUBLISHED_BEFORE, peek(entry + W_PUBLISHED));
    poke(entry + W_BYTES_BEFORE, peek(entry + W_BYTES));
    put(entry + W_STATE, entry_next(get(entry + W_STATE), KIND_WRITER));
    full_fence();
    wake(t->readers + DH_WAKE);
    p->tail = get(t->ring + RH_TAIL);
    p->end = get(slot_of(t, p->tail - 1) + S_END);
    p->freed = get(t->ring + RH_FREED);
    p->freed_start = get(slot_of(t, p->freed - 1) + S_END);
}

void publisher_detach(struct publisher *p) // has no open claims: it sends whole messages only
{
    uint8_t *entry = writer_of(p->topic, p->entry);
    put(entry + W_STATE, entry_next(get(entry + W_STATE), KIND_FREE));
    close(p->topic->ring_lock);
    close(p->topic->readers_lock);
}

static bool has_room(const struct topic *t, uint64_t i, uint64_t f, uint64_t start, uint64_t reserved, uint64_t fstart)
{
    return i - f < t->slot_count - 1 && start + reserved - fstart <= t->capacity;
}

// 7.2. False: full. Else *seq is ours and *start the place of its payload.
static bool claim_of_many(struct publisher *p, uint64_t reserved, uint64_t *seq, uint64_t *start)
{
    struct topic *t = p->topic;
    for (unsigned attempt = 0; attempt < ENDLESS; attempt++) {
        uint64_t i = get(t->ring + RH_TAIL), word = get(slot_of(t, i) + S_WORD);
        if (word_lap(word) == lap_of(t, i)) {
            if (!help(t, i, word) && get(t->ring + RH_TAIL) == i)
                fail(EXIT_CORRUPT, "a claim that cannot be finished");
            continue;
        }
        uint64_t begin = get(slot_of(t, i - 1) + S_END), f = get(t->ring + RH_FREED);
        uint64_t fstart = get(slot_of(t, f - 1) + S_END);
        if (get(t->ring + RH_TAIL) != i)
            continue;
        if (word_lap(word) != lap_of(t, i) - 1)
            fail(EXIT_CORRUPT, "the slot of the tail has a wrong lap");
        if (!has_room(t, i, f, begin, reserved, fstart)) {
            if (!reclaim(t, i, begin, reserved) && get(t->ring + RH_TAIL) == i)
                return false;
            continue;
        }
        put(writer_of(t, p->entry) + W_ANNOUNCED, reserved);
        step("claim.announced");
        if (!swap(slot_of(t, i) + S_WORD, word, slot_word(CLAIMED, p->entry, lap_of(t, i))))
            continue;
        step("claim.word");
        release_fence();
        poke(slot_of(t, i) + S_END, begin + reserved);
        step("claim.end");
        swap(t->ring + RH_TAIL, i, i + 1);
        step("claim.tail");
        release_fence();
        *seq = i;
        *start = begin;
        return true;
    }
    fail(EXIT_CORRUPT, "no claim in %d attempts", ENDLESS);
}

// 7.3, for a message that is filled and committed at once: nothing is stored before the commit.
static bool claim_of_one(struct publisher *p, uint64_t reserved, uint64_t *seq, uint64_t *start)
{
    struct topic *t = p->topic;
    while (!has_room(t, p->tail, p->freed, p->end, reserved, p->freed_start)) {
        if (!reclaim(t, p->tail, p->end, reserved))
            return false;
        p->freed = get(t->ring + RH_FREED);
        p->freed_start = get(slot_of(t, p->freed - 1) + S_END);
    }
    release_fence();
    *seq = p->tail;
    *start = p->end;
    return true;
}

// Bytes of one part of a message, in whole words; the rest of the last word is zero.
static void fill(const struct topic *t, uint64_t position, const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + done, size - done < 8 ? size - done : 8);
        poke(payload_of(t, position + done), word);
    }
}

// 7.4
static void commit(struct publisher *p, uint64_t seq, uint64_t start, uint64_t reserved, const char *type,
                   const void *body, uint32_t size)
{
    struct topic *t = p->topic;
    uint8_t *slot = slot_of(t, seq), *entry = writer_of(t, p->entry);
    uint64_t type_size = strlen(type), sender_size = strlen(p->sender);
    uint8_t meta[MAX_TYPE + MAX_SENDER];
    memcpy(meta, type, type_size);
    memcpy(meta + type_size, p->sender, sender_size);
    fill(t, start, body, size);
    fill(t, start + round_up(size, 8), meta, type_size + sender_size);
    step("commit.filled");
    poke(slot + S_LENGTHS, size | type_size << 32 | sender_size << 40);
    poke(slot + S_TIME_NS, (uint64_t)wall_clock_ns());
    if (t->one_writer)
        poke(slot + S_END, start + reserved);
    step("commit.described");
    death_wake_set(t);
    put(slot + S_WORD, slot_word(READY, p->entry, lap_of(t, seq)));
    step("commit.ready");
    if (t->one_writer) {
        p->tail = seq + 1;
        p->end = start + reserved;
        put(t->ring + RH_TAIL, p->tail);
    }
    step("commit.tail");
    poke(entry + W_PUBLISHED, peek(entry + W_PUBLISHED) + 1);
    poke(entry + W_BYTES, peek(entry + W_BYTES) + size);
    full_fence();
    wake(t->readers + DH_WAKE);
    death_wake_clear();
}

// The sequence. Waits for room up to wait_ns, asleep on `space`.
uint64_t publisher_send(struct publisher *p, const char *type, const void *body, uint32_t size, int64_t wait_ns)
{
    struct topic *t = p->topic;
    uint64_t reserved = round_up(size, 8) + round_up(strlen(type) + strlen(p->sender), 8), seq, start;
    int64_t slice = FIRST_SLICE_NS, deadline = 0;
    bool (*claim)(struct publisher *, uint64_t, uint64_t *, uint64_t *) = t->one_writer ? claim_of_one : claim_of_many;
    if (reserved == 0)
        reserved = 8;
    if (reserved > t->capacity || strlen(type) > MAX_TYPE || strlen(p->sender) > MAX_SENDER)
        fail(EXIT_USAGE, "a message of %u bytes can never fit", size);
    topic_check_there(t, false);
    while (!claim(p, reserved, &seq, &start)) {
        uint32_t announced = announce_sleep(t->readers + DH_SPACE);
        if (claim(p, reserved, &seq, &start))
            break;
        if (deadline == 0)
            deadline = monotonic_ns() + wait_ns;
        if (monotonic_ns() >= deadline)
            fail(EXIT_FULL, "no room for %u bytes", size);
        sleep_on(t->readers + DH_SPACE, announced, slice);
        slice = slice * 2 < LAST_SLICE_NS ? slice * 2 : LAST_SLICE_NS;
        topic_check_there(t, true);
    }
    commit(p, seq, start, reserved, type, body, size);
    return seq;
}
