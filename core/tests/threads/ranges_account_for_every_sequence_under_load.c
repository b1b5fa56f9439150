/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariant 2 for readers of ranges: while two writers send and abort as fast as they can, every sequence comes out once,
 * whole, as a message or in a hole, and messages and losses add up to what was sent. Roles are threads over one mapping of
 * the topic, for TSAN.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"

#define WRITERS 2
#define WORDS 9

static slipring_publisher *pubs[WRITERS];
static atomic_uint_fast64_t sent, writers_left = WRITERS;

static void *write_on(void *argument) {
    slipring_publisher *pub = argument;
    uint64_t body[WORDS];
    for (uint64_t left = scaled(60000); left; left--) {
        slipring_claim claim;
        for (uint64_t i = 0; i < WORDS; i++) body[i] = left + i;
        if (left % 7 == 0) {
            CHECK_OK(slipring_publisher_claim(pub, sizeof body, "", 0, SLIPRING_FOREVER, &claim));
            CHECK_OK(slipring_publisher_abort(pub, &claim));
        } else {
            CHECK_OK(slipring_publisher_send(pub, body, sizeof body, "", 0, SLIPRING_FOREVER, NULL));
            atomic_fetch_add(&sent, 1);
        }
    }
    atomic_fetch_sub(&writers_left, 1);
    return NULL;
}

struct account {
    uint64_t next, messages, lost, shown;
    uint64_t body[WORDS];
    int room;
};

static bool message(void *context, const slipring_message *m) {
    struct account *a = context;
    if (a->room-- == 0) return false;
    CHECK_EQ(m->seq, a->next);
    slipring_copy(a->body, m->body, sizeof a->body);
    a->shown = a->next++;
    a->messages++;
    return true;
}

static bool hole(void *context, uint64_t first, uint64_t span, uint64_t lost) {
    struct account *a = context;
    CHECK_EQ(first, a->next);
    CHECK(lost <= span);
    a->next += span;
    a->lost += lost;
    return true;
}

static void drop(void *context) {
    struct account *a = context;
    CHECK_EQ(a->next, a->shown + 1);
    a->next--;
    a->messages--;
}

static void read_to(slipring_range *range, struct account *a, uint64_t end) {
    static const slipring_range_sink sink = {.message = message, .hole = hole, .drop = drop};
    CHECK_OK(slipring_range_begin(range, a->next));
    for (uint64_t reached = a->next; reached < end;) {
        a->room = 40; /* stops in the middle, to be called again */
        CHECK_OK(slipring_range_read(range, end, &sink, a, &reached));
        CHECK_EQ(reached, a->next);
    }
}

static void run(void) {
    pthread_t threads[WRITERS];
    slipring_settings how = {.slots = 64, .capacity = 8192};
    for (int w = 0; w < WRITERS; w++) pubs[w] = publisher("t", &how);
    slipring_range *range;
    CHECK_OK(slipring_range_open(bus, "t", &range));
    for (int w = 0; w < WRITERS; w++) pthread_create(&threads[w], NULL, write_on, pubs[w]);
    struct account a = {.next = 0};
    for (bool last = false;;) {
        uint64_t end;
        CHECK_OK(slipring_range_settled(range, a.next, UINT64_MAX, UINT64_MAX, &end));
        if (end > a.next) read_to(range, &a, end);
        if (last && end == a.next) break;
        last = atomic_load(&writers_left) == 0;
    }
    for (int w = 0; w < WRITERS; w++) pthread_join(threads[w], NULL);
    CHECK_EQ(a.messages + a.lost, atomic_load(&sent));
    slipring_range_close(range);
    for (int w = 0; w < WRITERS; w++) slipring_publisher_close(pubs[w]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
