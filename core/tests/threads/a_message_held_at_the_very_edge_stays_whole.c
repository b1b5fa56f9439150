/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariant 5 where it is hardest: readers hold the oldest message while two writers reclaim it. A hold
 * returns a whole message or reports that there is none. A held message does not change until its release.
 * Roles are threads over one mapping of the topic, for TSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "harness.h"

#define WRITERS 2
#define READERS 2
#define WORDS 33 /* with the sender 272 bytes: fifteen of them fill the ring */

static slipring_publisher *pubs[WRITERS];
static atomic_uint_fast64_t readers_left = READERS;

static void *write_on(void *argument) {
    uint64_t body[WORDS], next = (uint64_t)(uintptr_t)argument << 40;
    while (atomic_load(&readers_left)) {
        for (uint64_t i = 0; i < WORDS; i++) body[i] = next * WORDS + i;
        int code = slipring_publisher_send(pubs[(uintptr_t)argument], body, sizeof body, "", 0, SLIPRING_NOW, NULL);
        if (code == SLIPRING_FULL) sched_yield(); /* a whole ring behind a held message */
        else CHECK_OK(code);
        next++;
    }
    return NULL;
}

static void check(const slipring_message *m) {
    const uint64_t *body = m->body;
    CHECK_EQ(m->size, 8 * WORDS);
    for (uint64_t i = 1; i < WORDS; i++) CHECK_EQ(body[i], body[0] + i);
}

static void *hold_the_oldest(void *argument) {
    slipring_subscriber *sub = argument;
    uint64_t holds = scaled(100000);
    while (holds) {
        slipring_message m;
        CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0));
        int code = slipring_subscriber_hold(sub, &m);
        if (code == SLIPRING_EMPTY) continue;
        CHECK_OK(code);
        for (int again = 0; again < 8; again++) check(&m);
        CHECK_OK(slipring_subscriber_release(sub, m.seq));
        holds--;
    }
    slipring_subscriber_close(sub);
    atomic_fetch_sub(&readers_left, 1);
    return NULL;
}

static void run(void) {
    pthread_t threads[WRITERS + READERS];
    slipring_settings how = {.slots = 16, .capacity = 4096};
    for (int w = 0; w < WRITERS; w++) pubs[w] = publisher("t", &how);
    for (int r = 0; r < READERS; r++)
        pthread_create(&threads[r], NULL, hold_the_oldest, subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW)));
    for (uintptr_t w = 0; w < WRITERS; w++) pthread_create(&threads[READERS + w], NULL, write_on, (void *)w);
    for (int i = 0; i < WRITERS + READERS; i++) pthread_join(threads[i], NULL);
    verify("t");
    for (int w = 0; w < WRITERS; w++) slipring_publisher_close(pubs[w]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
