/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariants 1, 2, 3 and 5 under load, with roles as threads over one mapping, so that sanitizers see everything.
 * Arguments: lossy|reliable, one|many writers, copy|hold|copy cursors; "odd": sizes that wrap everywhere, in a narrow
 * ring; "batches": many at a time, those of one size claimed at once; "columns": many at a time, into arrays.
 *
 * Every 8-byte word of a body follows from its stamp {writer, number}. On a reliable topic writers fill loans and
 * readers read in place by ordinary accesses: a missing release or acquire is a data race for TSAN. On a lossy topic
 * readers copy with slipring_copy, which must be silent; what TSAN cannot know of fences, the stamps tell.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "harness.h"

#define MOST_WRITERS 3
#define READERS 3
#define HELD 4
#define MOST_WORDS 40
#define BATCH 50

static bool reliable, hold, odd, cursors, batches, columns;
static unsigned writers;
static uint64_t each; /* messages per writer */
static atomic_uint_fast64_t committed, writers_done;

static uint64_t word_of(uint64_t stamp, size_t index) { return (stamp + index) * UINT64_C(0x9e3779b97f4a7c15); }
static size_t words_of(uint64_t number) { return odd ? 1 + number / 3 * 7 % MOST_WORDS : 7; }

static void fill(uint64_t *body, uint64_t stamp, size_t words) {
    for (size_t i = 0; i < words; i++) {
        uint64_t word = i ? word_of(stamp, i) : stamp;
        if (reliable) body[i] = word;
        else atomic_store_explicit((_Atomic uint64_t *)&body[i], word, memory_order_relaxed); /* may be being copied */
    }
}

static void check(const uint64_t *body, size_t size) {
    uint64_t stamp = body[0];
    CHECK(stamp >> 40 < writers);
    CHECK_EQ(size, 8 * words_of(stamp & 0xffffffffff));
    for (size_t i = 1; i < size / 8; i++)
        if (body[i] != word_of(stamp, i)) FAIL("word %zu of message %llx is torn", i, (unsigned long long)stamp);
}

static slipring_publisher *pubs[MOST_WRITERS];

static void write_batch(slipring_publisher *pub, uint64_t first_stamp, size_t count) {
    static _Thread_local uint64_t bodies[BATCH][MOST_WORDS];
    slipring_body list[BATCH];
    for (size_t i = 0; i < count; i++) {
        size_t words = words_of((first_stamp + i) & 0xffffffffff);
        fill(bodies[i], first_stamp + i, words);
        list[i] = (slipring_body){bodies[i], 8 * words};
    }
    for (size_t done = 0, sent; done < count; done += sent) {
        uint64_t last;
        int code = slipring_publisher_try_send_many(pub, list + done, count - done, "", 0, &sent, &last);
        if (code == SLIPRING_FULL) code = slipring_publisher_wait_space(pub, SLIPRING_FOREVER);
        CHECK_OK(code);
    }
    atomic_fetch_add(&committed, count);
}

static void *write_all(void *argument) {
    uint64_t me = (uintptr_t)argument, begun = batches ? each - each % BATCH : 0;
    slipring_publisher *pub = pubs[me];
    for (uint64_t n = 0; n < begun; n += BATCH) write_batch(pub, me << 40 | n, BATCH);
    for (uint64_t n = begun; n < each; n++) {
        uint64_t stamp = me << 40 | n, body[MOST_WORDS];
        size_t size = 8 * words_of(n);
        slipring_claim claim;
        if (n % 3 == 0 && !reliable) {
            fill(body, stamp, size / 8);
            CHECK_OK(slipring_publisher_send(pub, body, size, "", 0, SLIPRING_FOREVER, NULL));
        } else {
            CHECK_OK(slipring_publisher_claim(pub, size, "", 0, SLIPRING_FOREVER, &claim));
            fill(claim.body, stamp, size / 8);
            if (n % 17 == 5) {
                CHECK_OK(slipring_publisher_abort(pub, &claim));
                continue;
            }
            CHECK_OK(slipring_publisher_commit(pub, &claim));
        }
        atomic_fetch_add(&committed, 1);
        if (!odd && n % 64 == 0) pause_us(20); /* for once let the readers wait for us */
    }
    atomic_fetch_add(&writers_done, 1);
    return NULL;
}

struct reader {
    slipring_subscriber *sub;
    uint64_t next[MOST_WRITERS], last_seq;
    slipring_message held[HELD];
    unsigned held_count, turn;
};

static void in_order(struct reader *r, uint64_t seq, uint64_t stamp) {
    uint64_t writer = stamp >> 40, number = stamp & 0xffffffffff;
    CHECK(r->last_seq == UINT64_MAX || seq > r->last_seq);
    if (number < r->next[writer]) FAIL("message %llx came late", (unsigned long long)stamp);
    r->next[writer] = number + 1;
    r->last_seq = seq;
}

static void release(struct reader *r, unsigned which) {
    check(r->held[which].body, r->held[which].size); /* still the same */
    CHECK_OK(slipring_subscriber_release(r->sub, r->held[which].seq));
    r->held[which] = r->held[--r->held_count];
}

static bool read_held(struct reader *r) {
    if (r->held_count == HELD) release(r, r->turn++ % HELD);
    slipring_message *m = &r->held[r->held_count];
    int code = slipring_subscriber_hold(r->sub, m);
    if (code == SLIPRING_EMPTY) return false;
    CHECK_OK(code);
    r->held_count++;
    check(m->body, m->size);
    in_order(r, m->seq, *(const uint64_t *)m->body);
    return true;
}

/* Word by word: TSAN does not look into memcpy. */
static void read_plainly(uint64_t *to, const volatile uint64_t *body, size_t size) {
    for (size_t i = 0; i < size / 8; i++) to[i] = body[i];
}

static bool read_copied(struct reader *r) {
    slipring_message m;
    uint64_t copy[MOST_WORDS];
    int code = slipring_subscriber_peek(r->sub, &m);
    if (code == SLIPRING_EMPTY) return false;
    CHECK_OK(code);
    size_t size = m.size < sizeof copy ? m.size : sizeof copy; /* nonsense if it was overwritten: accept will say so */
    if (reliable) read_plainly(copy, m.body, size);
    else slipring_copy(copy, m.body, size);
    code = slipring_subscriber_accept(r->sub);
    if (code == SLIPRING_LAPPED) return true;
    CHECK_OK(code);
    check(copy, m.size);
    in_order(r, m.seq, copy[0]);
    if (cursors && r->turn++ % 8 == 0) CHECK_OK(slipring_subscriber_commit(r->sub, m.seq + 1));
    return true;
}

/* Many at a time, with the names of the next one. */
static bool read_columns(struct reader *r) {
    static _Thread_local uint64_t data[BATCH * MOST_WORDS];
    uint64_t names[(SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER) / 8 + 1];
    int64_t seqs[BATCH];
    int32_t ends[BATCH];
    slipring_message m;
    if (slipring_subscriber_peek(r->sub, &m) != SLIPRING_OK) return read_copied(r);
    slipring_copy(names, m.meta, ((size_t)m.type_size + m.sender_size + 7) / 8 * 8);
    slipring_columns c = {.seqs = seqs, .ends = ends, .data = (uint8_t *)data, .data_room = sizeof data, .meta_words = names,
                          .type_size = m.type_size, .sender_size = m.sender_size};
    size_t rows = slipring_subscriber_take_columns(r->sub, &c, BATCH);
    if (!rows) return read_copied(r);
    CHECK_EQ(rows, c.rows);
    for (size_t i = 0, begin = 0; i < rows; begin = (size_t)ends[i++]) {
        check(data + begin / 8, (size_t)ends[i] - begin);
        in_order(r, (uint64_t)seqs[i], data[begin / 8]);
    }
    return true;
}

static void *read_all(void *argument) {
    struct reader *r = argument;
    while (atomic_load(&writers_done) < writers || counts(r->sub).position < counts(r->sub).tail) {
        if (hold ? read_held(r) : columns ? read_columns(r) : read_copied(r)) continue;
        while (r->held_count) release(r, 0);
        if (!odd) {
            sched_yield(); /* to sleep and be woken would be one more meeting: see below */
            continue;
        }
        int code = slipring_wait(&r->sub, 1, NULL, 0, slipring_deadline(0.01), 1000);
        if (code != SLIPRING_TIMEOUT) CHECK_OK(code);
    }
    while (r->held_count) release(r, 0);
    slipring_counts c = counts(r->sub);
    CHECK_EQ(c.received + c.lost, atomic_load(&committed));
    if (reliable) CHECK_EQ(c.lost, 0);
    slipring_subscriber_close(r->sub);
    return NULL;
}

static void run(void) {
    static struct reader readers[READERS];
    pthread_t threads[MOST_WRITERS + READERS];
    reliable = harness_argument("reliable");
    hold = harness_argument("hold");
    odd = harness_argument("odd");
    batches = harness_argument("batches");
    columns = harness_argument("columns");
    cursors = harness_argument("cursors");
    bool one = harness_argument("one");
    writers = one ? 1 : MOST_WRITERS;
    each = scaled(40000) / writers;
    /* Wide, so that writers and readers seldom meet but in the messages themselves; or narrow, for laps. */
    slipring_settings how = {
        .slots = odd ? 64 : 1024, .capacity = odd ? 4096 : 65536, .delivery = reliable, .writers = one};
    for (unsigned w = 0; w < writers; w++) pubs[w] = publisher("t", &how);
    for (int i = 0; i < READERS; i++) {
        const char *cursor = cursors ? &"a\0b\0c"[2 * i] : NULL;
        readers[i] = (struct reader){.sub = subscriber("t", SUBSCRIBING(.cursor = cursor)), .last_seq = UINT64_MAX};
        pthread_create(&threads[i], NULL, read_all, &readers[i]);
    }
    for (uintptr_t w = 0; w < writers; w++) pthread_create(&threads[READERS + w], NULL, write_all, (void *)w);
    for (unsigned i = 0; i < READERS + writers; i++) pthread_join(threads[i], NULL);
    verify("t");
    CHECK_EQ(topic_info("t").published, atomic_load(&committed));
    for (unsigned w = 0; w < writers; w++) slipring_publisher_close(pubs[w]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
