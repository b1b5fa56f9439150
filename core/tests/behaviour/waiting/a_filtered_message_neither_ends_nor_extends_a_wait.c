/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises 6 and 7. One message that does not pass, then a stream of them: recv waits for its time and no longer.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "harness.h"

static atomic_bool enough;

static void *write_on(void *argument) {
    while (!enough) send_typed(argument, "xxxxxxxx", "no");
    return NULL;
}

static void time_out(slipring_subscriber *sub) {
    char body[64], meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_message m;
    int64_t deadline = slipring_deadline(0.1);
    int code = slipring_subscriber_recv(sub, body, sizeof body, &m, meta, deadline);
    if (code != SLIPRING_TIMEOUT) CHECK_CODE(code, SLIPRING_EMPTY);
    CHECK(slipring_deadline(1e-9) > deadline); /* not before its time */
}

static void run(void) {
    slipring_publisher *pub = publisher("t", SETTINGS(.slots = 64, .capacity = 65536));
    slipring_text yes = {"yes", 3};
    slipring_filter filter = {.types = &yes, .type_count = 1, .only_types = true};
    bool conflate = harness_argument("conflate");
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.filter = &filter, .conflate = conflate));
    send_typed(pub, "x", "no");
    time_out(sub);
    pthread_t thread;
    pthread_create(&thread, NULL, write_on, pub);
    for (int i = 0; i < 5; i++) time_out(sub);
    enough = true;
    pthread_join(thread, NULL);
    send_typed(pub, "pass", "yes");
    send_typed(pub, "x", "no");
    expect_text(sub, "pass");
    expect_empty(sub);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
