/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariant 3 from the first moment: readers join a reliable topic at its oldest message or by a cursor while two
 * writers run round a small ring, read on for a while without a gap, by ordinary accesses in place, and leave. Roles
 * are threads over one mapping of the topic, for TSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "harness.h"

#define JOINERS 2
#define WORDS 7

static atomic_bool enough;
static atomic_int joining = JOINERS;

static void *write_on(void *argument) {
    slipring_publisher *pub = argument;
    while (!enough) {
        slipring_claim claim;
        int code = slipring_publisher_claim(pub, 8 * WORDS, "", 0, SLIPRING_NOW, &claim);
        if (code == SLIPRING_FULL) {
            sched_yield();
            continue;
        }
        CHECK_OK(code);
        for (uint64_t i = 0; i < WORDS; i++) ((uint64_t *)claim.body)[i] = claim.seq * WORDS + i;
        CHECK_OK(slipring_publisher_commit(pub, &claim));
    }
    return NULL;
}

static void read_on(slipring_subscriber *sub, uint64_t messages) {
    uint64_t next = counts(sub).position;
    for (uint64_t got = 0; got < messages;) {
        slipring_message m;
        int code = slipring_subscriber_peek(sub, &m);
        if (code == SLIPRING_EMPTY) {
            sched_yield();
            continue;
        }
        CHECK_OK(code);
        CHECK_EQ(m.seq, next);
        CHECK_EQ(m.size, 8 * WORDS);
        for (uint64_t i = 0; i < WORDS; i++) CHECK_EQ(((const uint64_t *)m.body)[i], m.seq * WORDS + i);
        CHECK_OK(slipring_subscriber_accept(sub));
        got++;
        next++;
    }
    CHECK_EQ(counts(sub).lost, 0);
}

static void *join_and_leave(void *argument) {
    const char *cursor = argument;
    uint64_t rounds = scaled(3000);
    for (uint64_t i = 0; i < rounds; i++) {
        slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST, .cursor = cursor));
        uint64_t position = counts(sub).position;
        read_on(sub, 1 + i % 20); /* a cursor holds what it has not committed: less than the ring */
        if (cursor) CHECK_OK(slipring_subscriber_commit(sub, position + i % 2));
        if (i % 8 == 3) CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0));
        if (i % 8 == 3) read_on(sub, 3);
        if (cursor) CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
        slipring_subscriber_close(sub);
    }
    if (cursor) CHECK_OK(slipring_cursor_drop(bus, "t", cursor)); /* or the others would wait for it */
    atomic_fetch_sub(&joining, 1);
    return NULL;
}

static void run(void) {
    slipring_settings how = {.slots = 32, .capacity = 4096, .delivery = SLIPRING_RELIABLE};
    slipring_publisher *a = publisher("t", &how), *b = publisher("t", &how);
    pthread_t threads[2 + JOINERS];
    pthread_create(&threads[0], NULL, write_on, a);
    pthread_create(&threads[1], NULL, write_on, b);
    pthread_create(&threads[2], NULL, join_and_leave, NULL);
    pthread_create(&threads[3], NULL, join_and_leave, (void *)(uintptr_t)"c");
    pthread_join(threads[2], NULL);
    pthread_join(threads[3], NULL);
    enough = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    verify("t");
    slipring_publisher_close(a);
    slipring_publisher_close(b);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
