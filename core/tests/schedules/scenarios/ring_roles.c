/* SPDX-License-Identifier: Apache-2.0
 *
 * What writers and readers of ring_setup.h do, and what every message they read must be.
 */
#include "ports/publisher.h"
#include "ring_setup.h"

uint64_t ring_second_word(uint64_t first) { return first * UINT64_C(0x9e3779b97f4a7c15) + 1; }

int ring_send(slipring_publisher *pub, uint64_t writer, uint64_t number, int64_t deadline) {
    uint64_t body[2] = {writer << 32 | number, 0}, seq;
    body[1] = ring_second_word(body[0]);
    int code = slipring_publisher_send(pub, body, RING_BODY, "", 0, deadline, &seq);
    if (code == SLIPRING_OK) {
        MUST(seq < 64 && ring.stamp_of[seq] == 0, "sequence %d was given out twice", (int)seq);
        ring.stamp_of[seq] = body[0];
    }
    return code;
}

/* Writing ----------------------------------------------------------------------------------------------------- */

static void write_loan(uint64_t writer, uint64_t number) {
    slipring_claim claim;
    int code = slipring_publisher_claim(ring.pub[writer], RING_BODY, "", 0, SLIPRING_NOW, &claim);
    if (code == SLIPRING_FULL) {
        ring.refused++;
        return;
    }
    MUST(code == SLIPRING_OK, "a claim gives %d: %s", code, slipring_last_error()->message);
    _Atomic uint64_t *body = claim.body;
    uint64_t stamp = writer << 32 | number;
    slr_store_relaxed(&body[0], stamp);
    slr_store_relaxed(&body[1], ring_second_word(stamp));
    MUST_OK(slipring_publisher_commit(ring.pub[writer], &claim));
    ring.stamp_of[claim.seq & 63] = stamp;
    ring.sent++;
}

/* The sequences between the first and the last need not be one's own. */
static void write_run(uint64_t writer) {
    uint64_t words[RING_MOST_SENDS][2], last = 0;
    slipring_body bodies[RING_MOST_SENDS];
    size_t sent, count = (size_t)ring.how.sends;
    for (size_t i = 0; i < count; i++) {
        words[i][0] = writer << 32 | (i + 1);
        words[i][1] = ring_second_word(words[i][0]);
        bodies[i] = (slipring_body){.data = words[i], .size = RING_BODY};
    }
    int code = slipring_publisher_try_send_many(ring.pub[writer], bodies, count, "", 0, &sent, &last);
    MUST(code == SLIPRING_OK || code == SLIPRING_FULL, "send_many gives %d: %s", code, slipring_last_error()->message);
    ring.sent += sent;
    ring.refused += count - sent;
    if (sent) ring.stamp_of[last & 63] = words[sent - 1][0];
}

static void write_all(uint64_t writer) {
    if (ring.how.runs) {
        write_run(writer);
        return;
    }
    for (int i = 1; i <= ring.how.sends; i++) {
        if (ring.how.loans) {
            write_loan(writer, (uint64_t)i);
            continue;
        }
        int code = ring_send(ring.pub[writer], writer, (uint64_t)i, ring.how.writers_wait ? SLIPRING_FOREVER : SLIPRING_NOW);
        MUST(code == SLIPRING_OK || code == SLIPRING_FULL, "send gives %d: %s", code, slipring_last_error()->message);
        if (code) ring.refused++;
        else ring.sent++;
    }
}
void ring_write_first(void) { write_all(0); }
void ring_write_second(void) { write_all(1); }

/* Reading ----------------------------------------------------------------------------------------------------- */

static void check_message(uint64_t seq, const uint64_t *words, const char *how) {
    uint64_t writer = words[0] >> 32, number = words[0] & UINT32_MAX;
    MUST(words[1] == ring_second_word(words[0]) && writer <= RING_SETUP, "message %d is torn (%s)", (int)seq, how);
    MUST(ring.received == 0 || seq > ring.last_seq, "message %d comes after %d", (int)seq, (int)ring.last_seq);
    MUST(number > ring.last_number[writer], "writer %d's message %d comes after its %d", (int)writer, (int)number,
         (int)ring.last_number[writer]);
    ring.got[seq & 63] = words[0];
    MUST(!schedules_overslept(), "a wake-up was lost: message %d was there all the time", (int)seq);
    ring.last_seq = seq;
    ring.last_number[writer] = number;
    ring.received++;
    schedules_outcome(words[0]);
}

bool ring_read_one(void) {
    uint64_t words[2];
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_message m;
    int code = slipring_subscriber_recv(ring.sub, words, sizeof words, &m, meta, SLIPRING_NOW);
    if (code == SLIPRING_EMPTY) return false;
    MUST(code == SLIPRING_OK, "recv gives %d: %s", code, slipring_last_error()->message);
    MUST(m.size == RING_BODY, "message %d has %u bytes", (int)m.seq, m.size);
    check_message(m.seq, words, "copy");
    return true;
}

static bool read_held(void) {
    slipring_message m;
    int code = slipring_subscriber_hold(ring.sub, &m);
    if (code == SLIPRING_EMPTY) return false;
    MUST(code == SLIPRING_OK, "hold gives %d: %s", code, slipring_last_error()->message);
    MUST(m.size == RING_BODY, "message %d has %u bytes", (int)m.seq, m.size);
    const _Atomic uint64_t *body = (const _Atomic uint64_t *)m.body;
    uint64_t words[2] = {slr_load_relaxed(&body[0]), slr_load_relaxed(&body[1])};
    check_message(m.seq, words, "held");
    MUST(slr_load_relaxed(&body[0]) == words[0] && slr_load_relaxed(&body[1]) == words[1], "message %d changed while it was held", (int)m.seq);
    MUST_OK(slipring_subscriber_release(ring.sub, m.seq));
    return true;
}

struct batch {
    size_t count;
    uint64_t seq[RING_SLOTS], words[RING_SLOTS][2];
};

static bool into_batch(void *context, const slipring_message *m) {
    struct batch *b = context;
    if (b->count == RING_SLOTS || m->size != RING_BODY) return false;
    b->seq[b->count] = m->seq;
    slipring_copy(b->words[b->count++], m->body, RING_BODY);
    return true;
}

static bool read_batch(void) {
    struct batch b = {0};
    size_t taken;
    int code = slipring_subscriber_drain(ring.sub, 4, into_batch, &b, &taken);
    MUST(code == SLIPRING_OK || code == SLIPRING_EMPTY || code == SLIPRING_LAPPED, "drain gives %d: %s", code,
         slipring_last_error()->message);
    for (size_t i = 0; i < taken; i++) check_message(b.seq[i], b.words[i], "batch");
    return taken > 0;
}

slipring_counts ring_counts(void) {
    slipring_counts counts;
    slipring_subscriber_counts(ring.sub, &counts);
    return counts;
}

static bool read_columns(void) {
    uint64_t words[RING_SLOTS][2], names[1] = {0};
    int64_t seqs[RING_SLOTS];
    int32_t ends[RING_SLOTS];
    slipring_columns c = {.seqs = seqs, .ends = ends, .data = (uint8_t *)words, .data_room = sizeof words, .meta_words = names};
    size_t rows = slipring_subscriber_take_columns(ring.sub, &c, RING_SLOTS);
    for (size_t i = 0; i < rows; i++) {
        MUST(ends[i] == (int32_t)(i + 1) * RING_BODY, "row %d ends at %d", (int)i, ends[i]);
        check_message((uint64_t)seqs[i], words[i], "columns");
    }
    return rows > 0 || read_batch();
}

/* What all would be if nobody dies: who does not wait looks as often, and leaves the rest to the judge. */
static void read_all(bool (*read)(void)) {
    uint64_t all = ring.sent_before + (uint64_t)(ring.how.sends * (ring.how.one ? 1 : 2));
    if (ring.how.joins) ring_open_reader();
    if (!ring.how.reader_waits) {
        for (int i = 0; i < 3; i++) read();
        return;
    }
    for (int sleeps = 0; ring.received + ring_counts().lost < all && sleeps < 40;) {
        if (read()) continue;
        if (schedules_any_crash() && ++sleeps > 4) return; /* those who died send nothing any more */
        int code = slipring_wait(&ring.sub, 1, NULL, 0, SLIPRING_FOREVER, 0);
        MUST(code == SLIPRING_OK, "wait gives %d: %s", code, slipring_last_error()->message);
    }
}
void ring_read_copies(void) { read_all(ring_read_one); }
void ring_read_held(void) { read_all(read_held); }
void ring_read_batches(void) { read_all(read_batch); }
void ring_read_columns(void) { read_all(read_columns); }

void ring_remove(void) { slr_segment_mark_removed(ring.pub[0]->s); }
void ring_read_until_removed(void) {
    int code;
    do code = slipring_wait(&ring.sub, 1, NULL, 0, SLIPRING_FOREVER, 0);
    while (code == SLIPRING_OK);
    MUST(code == SLIPRING_TOPIC_GONE, "wait gives %d: %s", code, slipring_last_error()->message);
    MUST(!schedules_overslept(), "a wake-up was lost: the topic was removed all the time");
}
