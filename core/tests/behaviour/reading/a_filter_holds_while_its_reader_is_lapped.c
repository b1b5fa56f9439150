/* SPDX-License-Identifier: Apache-2.0
 *
 * Two writers run round a ring of 16 slots; nothing they send passes the reader's filter. So peek must never show a
 * message, and never call the topic damaged, however often it is overtaken while it looks. With "conflate" too.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"

static atomic_bool enough;

static void *write_on(void *argument) {
    slipring_publisher *pub = argument;
    while (!enough) {
        int code = slipring_publisher_send(pub, "xxxxxxxx", 8, "no", 2, SLIPRING_NOW, NULL);
        if (code != SLIPRING_FULL) CHECK_OK(code); /* FULL: the other writer was paused inside its claim */
    }
    return NULL;
}

static void run(void) {
    slipring_publisher *a = publisher("t", SETTINGS(.slots = 16, .capacity = 4096)), *b = publisher("t", NULL);
    slipring_text yes = {"yes", 3};
    slipring_filter filter = {.types = &yes, .type_count = 1, .only_types = true};
    bool conflate = harness_argument("conflate");
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.filter = &filter, .conflate = conflate));
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, write_on, a);
    pthread_create(&threads[1], NULL, write_on, b);
    uint64_t peeks = scaled(2000000);
    for (uint64_t i = 0; i < peeks; i++) {
        slipring_message m;
        CHECK_CODE(slipring_subscriber_peek(sub, &m), SLIPRING_EMPTY);
    }
    enough = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    slipring_message m;
    while (counts(sub).position < counts(sub).tail) CHECK_CODE(slipring_subscriber_peek(sub, &m), SLIPRING_EMPTY);
    CHECK_EQ(counts(sub).received, 0);
    CHECK_EQ(counts(sub).lost + counts(sub).filtered, topic_info("t").published);
    slipring_subscriber_close(sub);
    slipring_publisher_close(a);
    slipring_publisher_close(b);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
