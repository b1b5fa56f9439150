/* SPDX-License-Identifier: Apache-2.0
 *
 * On a topic in full use, verify reports no error, and the counts of the inspector are consistent.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"

static atomic_bool enough;

static void *write_on(void *argument) {
    slipring_claim claim;
    for (unsigned i = 0; !enough; i++) {
        int code = slipring_publisher_claim(argument, 8, "", 0, SLIPRING_NOW, &claim);
        if (code == SLIPRING_FULL) continue; /* the other writer was paused inside its claim */
        CHECK_OK(code);
        CHECK_OK(i % 5 ? slipring_publisher_commit(argument, &claim) : slipring_publisher_abort(argument, &claim));
    }
    return NULL;
}

static void run(void) {
    slipring_publisher *a = publisher("t", SETTINGS(.slots = 16, .capacity = 4096)), *b = publisher("t", NULL);
    slipring_inspector *inspector;
    slipring_topic_info info = {0}, last = {0};
    pthread_t threads[2];
    CHECK_OK(slipring_inspector_open(bus, "t", &inspector));
    pthread_create(&threads[0], NULL, write_on, a);
    pthread_create(&threads[1], NULL, write_on, b);
    uint64_t looks = scaled(60000);
    for (uint64_t i = 0; i < looks; i++) {
        CHECK_OK(slipring_inspector_verify(inspector));
        CHECK_OK(slipring_inspector_topic(inspector, &info));
        if (info.published == 0) continue; /* no quiet moment was found */
        CHECK(info.oldest <= info.tail && info.freed <= info.oldest);
        CHECK(info.published >= last.published && info.abandoned >= last.abandoned);
        CHECK_EQ(info.published + info.abandoned + info.unsettled, info.tail);
        last = info;
    }
    enough = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    slipring_inspector_close(inspector);
    slipring_publisher_close(a);
    slipring_publisher_close(b);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
