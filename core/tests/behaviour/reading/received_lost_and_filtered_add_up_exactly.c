/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariants 1 and 2, against a plain model: two publishers send, and lend, commit and abort in any order, in bursts
 * longer than the ring; six readers of every kind read at their own pace and seek. What a reader receives is what was
 * sent under that sequence, in order; received + lost + filtered is what was committed between start and position.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define SLOTS 32u
#define MOST 400000u
#define LOANS 4
#define READERS 6

enum fate { OPEN, COMMITTED_A, COMMITTED_B, GONE };
static uint8_t fates[MOST];
static uint64_t tail;
static slipring_publisher *pubs[2];
static slipring_claim loans[LOANS];
static int loan_owner[LOANS]; /* -1: none */

static struct reader {
    slipring_subscriber *sub;
    uint64_t start; /* counting began here */
    slipring_counts before;
} readers[READERS];

static uint64_t state;
static unsigned dice(unsigned sides) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % sides;
}

static void body_of(uint64_t seq, char body[24]) { snprintf(body, 24, "%llu", (unsigned long long)seq); }

static bool send_some(int who) {
    slipring_claim claim;
    char body[24];
    const char *type = dice(3) ? "a" : "b";
    int code = slipring_publisher_claim(pubs[who], 24, type, 1, SLIPRING_NOW, &claim);
    if (code == SLIPRING_FULL) return false;
    CHECK_OK(code);
    CHECK_EQ(claim.seq, tail);
    body_of(tail, body);
    memcpy(claim.body, body, 24);
    fates[tail] = OPEN;
    tail++;
    int keep = (int)dice(LOANS * 4);
    if (keep < LOANS && loan_owner[keep] < 0) { /* finish it later */
        loans[keep] = claim;
        loan_owner[keep] = who | (*type == 'a' ? 0 : 2);
        return true;
    }
    bool abort = dice(4) == 0;
    CHECK_OK(abort ? slipring_publisher_abort(pubs[who], &claim) : slipring_publisher_commit(pubs[who], &claim));
    fates[claim.seq] = abort ? GONE : *type == 'a' ? COMMITTED_A : COMMITTED_B;
    return true;
}

static void finish_loan(int which) {
    if (loan_owner[which] < 0) return;
    slipring_publisher *pub = pubs[loan_owner[which] & 1];
    bool abort = dice(2);
    CHECK_OK(abort ? slipring_publisher_abort(pub, &loans[which]) : slipring_publisher_commit(pub, &loans[which]));
    fates[loans[which].seq] = abort ? GONE : loan_owner[which] & 2 ? COMMITTED_B : COMMITTED_A;
    loan_owner[which] = -1;
}

/* Nothing but aborted loans, more of them than the ring has slots. */
static void abort_burst(int who) {
    slipring_claim claim;
    for (unsigned i = 0; i < 2 * SLOTS + dice(SLOTS); i++) {
        if (slipring_publisher_claim(pubs[who], 8, "", 0, SLIPRING_NOW, &claim) == SLIPRING_FULL) return;
        CHECK_OK(slipring_publisher_abort(pubs[who], &claim));
        fates[tail++] = GONE;
    }
}

static uint64_t committed(uint64_t from, uint64_t to) {
    uint64_t sum = 0;
    for (; from < to; from++) sum += fates[from] == COMMITTED_A || fates[from] == COMMITTED_B;
    return sum;
}

static void check_counts(const struct reader *r) {
    slipring_counts c = counts(r->sub);
    uint64_t got = c.received - r->before.received, lost = c.lost - r->before.lost;
    uint64_t filtered = c.filtered - r->before.filtered;
    uint64_t expected = committed(r->start, c.position);
    if (got + lost + filtered != expected)
        FAIL("reader %d: received %llu + lost %llu + filtered %llu is not %llu, from %llu to %llu", (int)(r - readers),
             (unsigned long long)got, (unsigned long long)lost, (unsigned long long)filtered,
             (unsigned long long)expected, (unsigned long long)r->start, (unsigned long long)c.position);
    if (c.reliable) CHECK_EQ(lost, 0);
}

static void read_some(struct reader *r, unsigned most) {
    static struct message m;
    char body[24];
    for (unsigned i = 0; i < most && receive(r->sub, &m); i++) {
        CHECK(m.head.seq >= r->start && m.head.seq < tail);
        body_of(m.head.seq, body);
        CHECK(strcmp(m.body, body) == 0);
        CHECK_EQ(fates[m.head.seq], *m.type == 'a' ? COMMITTED_A : COMMITTED_B);
        CHECK_EQ(counts(r->sub).position, m.head.seq + 1);
    }
    if (r - readers < 4) check_counts(r); /* conflating readers settle when no claim is open */
}

/* To a sequence that is gone: what lies between is lost, exactly, unless a ring's worth of it was abandoned. */
static void seek(struct reader *r) {
    int start = (int)dice(4);
    uint64_t seq = start == SLIPRING_START_SEQ ? dice((unsigned)tail + 1) : 0;
    for (int i = 0; i < LOANS; i++) finish_loan(i); /* what was abandoned below is known only if no claim is open */
    r->before = counts(r->sub);
    CHECK_OK(slipring_subscriber_seek(r->sub, start, seq));
    slipring_counts c = counts(r->sub);
    r->start = start == SLIPRING_START_SEQ ? seq : c.position;
    if (r->start == c.position) return;
    if (c.position - r->start - committed(r->start, c.position) < SLOTS)
        CHECK_EQ(c.lost - r->before.lost, committed(r->start, c.position));
    r->before = c;
    r->start = c.position;
}

static void open_readers(void) {
    static slipring_text a = {"a", 1};
    static slipring_filter only_a = {.types = &a, .type_count = 1, .only_types = true};
    readers[0].sub = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY));
    readers[1].sub = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .filter = &only_a));
    readers[2].sub = subscriber("t", SUBSCRIBING(.lossy = AS_TOPIC));
    readers[3].sub = subscriber("t", SUBSCRIBING(.lossy = AS_TOPIC, .filter = &only_a));
    readers[4].sub = subscriber("t", SUBSCRIBING(.conflate = true));
    readers[5].sub = subscriber("t", SUBSCRIBING(.conflate = true, .filter = &only_a));
}

static void step(void) {
    unsigned what = dice(100);
    struct reader *r = &readers[dice(READERS)];
    if (what < 60) send_some((int)dice(2));
    else if (what < 70) finish_loan((int)dice(LOANS));
    else if (what < 71) abort_burst((int)dice(2));
    else if (what < 74) for (unsigned i = 0; i < 3 * SLOTS && send_some((int)dice(2)); i++) continue;
    else if (what < 75 && r - readers < 4) seek(r);
    else read_some(r, dice(40));
}

static void run(void) {
    int delivery = harness_argument("reliable") ? SLIPRING_RELIABLE : SLIPRING_LOSSY;
    state = harness_argument("reliable") ? 42 : 4711;
    slipring_settings how = {.slots = SLOTS, .capacity = 4096, .delivery = delivery};
    for (int i = 0; i < 2; i++) pubs[i] = publisher("t", &how);
    for (int i = 0; i < LOANS; i++) loan_owner[i] = -1;
    open_readers();
    uint64_t steps = scaled(60000);
    for (uint64_t i = 0; i < steps && tail < MOST - 4 * SLOTS; i++) step();
    for (int i = 0; i < LOANS; i++) finish_loan(i);
    for (int i = 0; i < READERS; i++) {
        read_some(&readers[i], UINT32_MAX);
        CHECK_EQ(counts(readers[i].sub).position, tail);
        check_counts(&readers[i]);
        slipring_subscriber_close(readers[i].sub);
    }
    CHECK_EQ(topic_info("t").published, committed(0, tail));
    verify("t");
    for (int i = 0; i < 2; i++) slipring_publisher_close(pubs[i]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
