/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 3: behind by any number of laps, exact multiples included, a reader gets the loss and then every message
 * that is still there; it is never shown "empty".
 */
#include <string.h>

#include "harness.h"

#define SLOTS 16u

static void behind(slipring_publisher *pub, uint64_t messages) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    static struct message m;
    uint64_t first = counts(sub).position, next = first;
    char text[32];
    for (uint64_t i = 0; i < messages; i++) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)(first + i));
        CHECK_EQ(send_text(pub, text), first + i);
    }
    uint64_t oldest = topic_info("t").oldest;
    if (oldest < first) oldest = first;
    while (receive(sub, &m)) {
        if (next == first) next = oldest;
        CHECK_EQ(m.head.seq, next);
        snprintf(text, sizeof text, "%llu", (unsigned long long)next);
        CHECK(strcmp(m.body, text) == 0);
        next++;
    }
    CHECK_EQ(next, first + messages);
    CHECK_EQ(counts(sub).lost, oldest - first);
    CHECK_EQ(counts(sub).received + counts(sub).lost, messages);
    slipring_subscriber_close(sub);
}

static void run(void) {
    int writers = harness_argument("one") ? SLIPRING_WRITERS_ONE : SLIPRING_WRITERS_MANY;
    slipring_publisher *pub = publisher("t", SETTINGS(.capacity = 4096, .slots = SLOTS, .writers = writers));
    for (uint64_t messages = 0; messages <= 8 * SLOTS; messages++) behind(pub, messages);
    for (uint64_t laps = 9; laps < 2000; laps *= 3)
        for (uint64_t more = 0; more < 3; more++) behind(pub, laps * SLOTS + more - 1);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
