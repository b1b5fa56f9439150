// SPDX-License-Identifier: Apache-2.0
// Subscribing: sections 9 and 10. By copy; a reliable reader holds its position, a lossy one counts what it lost.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shared.h"

enum { FIRST_SLICE_NS = 5000000, LAST_MUTE_SLICE_NS = 1000000000, BEHIND_CLAIM_NS = 1000000 };
enum seen { MESSAGE, NOTHING, BEHIND_A_CLAIM };

static void take_entry(struct subscriber *s)
{
    struct topic *t = s->topic;
    s->entry = -1;
    for (int only_free = 1; only_free >= 0 && s->entry < 0; only_free--)
        for (uint32_t e = 0; e < t->reader_count && s->entry < 0; e++)
            if ((!only_free || entry_kind(get(reader_of(t, e) + R_STATE)) == KIND_FREE)
                && lock_byte(t->readers_lock, t->readers_at + (uint64_t)e * READER_SIZE))
                s->entry = (int)e;
    if (s->entry < 0 && s->reliable)
        fail(EXIT_BUSY, "the reader table is full of the living");
}

// Section 10, step 3.
static void fill_entry(struct subscriber *s)
{
    struct topic *t = s->topic;
    uint8_t *entry = reader_of(t, (uint32_t)s->entry);
    put(entry + R_STATE, entry_next(get(entry + R_STATE), KIND_FREE));
    poke(entry + R_POSITION, 0);
    poke(entry + R_RECEIVED, 0);
    poke(entry + R_LOST, 0);
    poke(entry + R_FILTERED, 0);
    poke(entry + R_HELD, 0);
    poke(entry + R_POOL, 0);
    *(uint32_t *)(entry + R_PID) = (uint32_t)getpid();
    poke(entry + R_SINCE_NS, (uint64_t)wall_clock_ns());
    put(entry + R_HOLD, s->reliable ? 0 : NO_HOLD);
    step("subscribe.held");
    for (uint32_t high = get32(t->readers + DH_HIGH_READER); high < (uint32_t)s->entry + 1;
         high = get32(t->readers + DH_HIGH_READER))
        swap32(t->readers + DH_HIGH_READER, high, (uint32_t)s->entry + 1);
    put(entry + R_STATE, entry_next(get(entry + R_STATE), s->reliable ? KIND_RELIABLE : KIND_LOSSY));
    full_fence();
    step("subscribe.known");
}

// Section 9.5: the number of abandoned sequences below the position, if it can be known.
static void choose_place(struct subscriber *s, bool from_oldest)
{
    struct topic *t = s->topic;
    uint64_t o = get(t->ring + RH_OLDEST), tail = get(t->ring + RH_TAIL);
    uint64_t word = get(slot_of(t, tail) + S_WORD);
    bool uncounted = word_state(word) == READY && word_lap(word) == lap_of(t, tail);
    s->position = from_oldest ? o : tail + uncounted;
    s->abandoned = get(passed_of(t, o)) - o;
    s->abandoned_known = s->position - o <= t->slot_count;
    for (uint64_t seq = o; seq != s->position && s->abandoned_known; seq++) {
        unsigned state = word_state(get(slot_of(t, seq) + S_WORD));
        s->abandoned += state == GONE;
        s->abandoned_known = state != CLAIMED;
    }
    s->abandoned_known &= get(t->ring + RH_OLDEST) == o;
}

static void tell_position(struct subscriber *s)
{
    if (s->entry < 0)
        return;
    uint8_t *entry = reader_of(s->topic, (uint32_t)s->entry);
    if (s->reliable)
        put(entry + R_HOLD, s->position);
    poke(entry + R_POSITION, s->position);
    poke(entry + R_RECEIVED, s->received);
    poke(entry + R_LOST, s->lost);
}

void subscriber_attach(struct subscriber *s, struct topic *t, bool reliable, bool from_oldest)
{
    *s = (struct subscriber){.topic = t, .reliable = reliable};
    s->copy = malloc(t->capacity);
    if (!s->copy || (reliable && !t->reliable))
        fail(EXIT_USAGE, "no memory, or a reliable subscriber on a lossy topic");
    sweep(t, false);
    take_entry(s);
    if (s->entry >= 0)
        fill_entry(s);
    choose_place(s, from_oldest);
    tell_position(s);
}

void subscriber_detach(struct subscriber *s)
{
    if (s->entry >= 0) {
        uint8_t *entry = reader_of(s->topic, (uint32_t)s->entry);
        put(entry + R_STATE, entry_next(get(entry + R_STATE), KIND_FREE));
        full_fence();
        wake(s->topic->readers + DH_SPACE);
    }
    close(s->topic->ring_lock);
    close(s->topic->readers_lock);
    free(s->copy);
}

// 9.2 step 3: abandoned sequences not below the position, from the log, of the n below o. False: look again.
static bool count_from_log(const struct subscriber *s, uint64_t o, uint64_t n, uint64_t *count)
{
    const struct topic *t = s->topic;
    for (*count = 0; *count < n && *count < t->slot_count; ++*count) {
        uint64_t seq = get(abandoned_of(t, n - 1 - *count));
        if (seq >= o && get(t->ring + RH_OLDEST) != o)
            return false;
        if (seq >= o || seq < s->position)
            break;
    }
    return true;
}

static void overtaken(struct subscriber *s)
{
    const struct topic *t = s->topic;
    for (unsigned attempt = 0; attempt < ENDLESS; attempt++) {
        uint64_t o = get(t->ring + RH_OLDEST), n = get(passed_of(t, o)) - o, abandoned = n - s->abandoned;
        if (get(t->ring + RH_OLDEST) != o || (!s->abandoned_known && !count_from_log(s, o, n, &abandoned)))
            continue;
        uint64_t missed = o - s->position;
        if ((int64_t)missed <= 0 || abandoned > missed)
            break;
        s->lost += missed - abandoned;
        s->position = o;
        s->abandoned = n;
        s->abandoned_known = true;
        return;
    }
    fail(EXIT_CORRUPT, "overtaken at %llu, but not by `oldest`", (unsigned long long)s->position);
}

static void pass_abandoned(struct subscriber *s)
{
    s->position++;
    s->abandoned++;
}

// 9.1 steps 5 to 7. False: what was copied is worthless.
static bool copy_message(struct subscriber *s, struct message *m)
{
    const struct topic *t = s->topic;
    const uint8_t *slot = slot_of(t, s->position);
    uint64_t lengths = peek(slot + S_LENGTHS), end = peek(slot + S_END), body = (uint32_t)lengths;
    uint64_t type = lengths >> 32 & 0xff, sender = lengths >> 40 & 0xff;
    uint64_t reserved = round_up(body, 8) + round_up(type + sender, 8);
    if (reserved == 0)
        reserved = 8;
    bool possible = reserved <= t->capacity && lengths >> 48 == 0 && end % 8 == 0;
    *m = (struct message){.seq = s->position, .time_ns = (int64_t)peek(slot + S_TIME_NS), .body_size = (uint32_t)body,
                          .type_size = (uint32_t)type, .sender_size = (uint32_t)sender};
    for (uint64_t done = 0; possible && done < reserved; done += 8)
        s->copy[done / 8] = peek(payload_of(t, end - reserved + done));
    acquire_fence();
    if (!s->reliable && peek(t->ring + RH_OLDEST) > s->position)
        return false;
    if (!possible)
        fail(EXIT_CORRUPT, "impossible lengths at %llu", (unsigned long long)s->position);
    m->body = (const uint8_t *)s->copy;
    m->type = m->body + round_up(body, 8);
    m->sender = m->type + type;
    return true;
}

static enum seen look(struct subscriber *s, struct message *m)
{
    const struct topic *t = s->topic;
    for (unsigned attempt = 0; attempt < ENDLESS; attempt++) {
        uint64_t word = get(slot_of(t, s->position) + S_WORD), lap = lap_of(t, s->position);
        if (word_lap(word) < lap)
            return NOTHING;
        if (word_lap(word) > lap) {
            overtaken(s);
            continue;
        }
        if (word_state(word) == READY) {
            if (copy_message(s, m))
                return MESSAGE;
            overtaken(s);
            continue;
        }
        if (word_state(word) == FREE)
            fail(EXIT_CORRUPT, "a free slot with a lap");
        if (get(t->ring + RH_TAIL) <= s->position)
            return NOTHING;
        if (word_state(word) == CLAIMED) {
            if (!writer_is_dead(t, word_writer(word)))
                return BEHIND_A_CLAIM;
            if (get(slot_of(t, s->position) + S_WORD) != word)
                continue;
        }
        pass_abandoned(s);
    }
    fail(EXIT_CORRUPT, "nothing readable in %d attempts", ENDLESS);
}

// Section 11, last paragraph: publishers that wait for room hear of it a sixteenth of the ring at a time.
static void tell_publishers(struct subscriber *s, bool read_all)
{
    const struct topic *t = s->topic;
    if (!s->reliable || !(read_all || s->unwoken_messages >= t->slot_count / 16 || s->unwoken_bytes >= t->capacity / 16))
        return;
    s->unwoken_messages = s->unwoken_bytes = 0;
    wake(t->readers + DH_SPACE);
}

// 11.2
static int64_t slice_after(const struct topic *t, int64_t slice)
{
    bool mute = get32(t->readers + DH_CANNOT_WAKE) != 0;
    return mute && slice * 2 > LAST_MUTE_SLICE_NS ? LAST_MUTE_SLICE_NS : slice * 2;
}

// Nothing was there: asleep until something is, in slices. False: the time is over.
static enum seen wait_for_message(struct subscriber *s, struct message *m, int64_t wait_ns)
{
    uint8_t *word = s->topic->readers + DH_WAKE;
    int64_t deadline = monotonic_ns() + wait_ns;
    for (int64_t slice = FIRST_SLICE_NS;; slice = slice_after(s->topic, slice)) {
        tell_position(s); // abandoned sequences may have been passed
        tell_publishers(s, true);
        uint32_t announced = announce_sleep(word);
        const uint8_t *slot = slot_of(s->topic, s->position) + S_WORD;
        uint32_t slot_seen = (uint32_t)get(slot);
        enum seen seen = look(s, m);
        int64_t left = deadline - monotonic_ns(), most = seen == BEHIND_A_CLAIM ? BEHIND_CLAIM_NS : slice;
        if (seen == MESSAGE || left <= 0)
            return seen;
        if (slot_of(s->topic, s->position) + S_WORD == slot) // else it passed abandoned ones: check again
            sleep_for_message(s->topic, announced, slot, slot_seen, left < most ? left : most);
        topic_check_there(s->topic, true);
    }
}

bool subscriber_receive(struct subscriber *s, struct message *m, int64_t wait_ns)
{
    topic_check_there(s->topic, false);
    enum seen seen = look(s, m);
    if (seen != MESSAGE)
        seen = wait_for_message(s, m, wait_ns);
    if (seen != MESSAGE)
        return false;
    s->position++;
    s->received++;
    s->unwoken_messages++;
    s->unwoken_bytes += m->body_size;
    step("receive.copied");
    tell_position(s); // the copy is done: its memory may be reused
    tell_publishers(s, false);
    return true;
}
