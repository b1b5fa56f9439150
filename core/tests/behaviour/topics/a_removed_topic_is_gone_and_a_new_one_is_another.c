/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "harness.h"

static void all_say_gone(slipring_publisher *pub, slipring_subscriber *sub) {
    slipring_message m;
    slipring_claim claim;
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_FOREVER, NULL), SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_publisher_claim(pub, 1, "", 0, SLIPRING_FOREVER, &claim), SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_subscriber_peek(sub, &m), SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_subscriber_hold(sub, &m), SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0), SLIPRING_TOPIC_GONE);
    CHECK(slipring_publisher_subscribers(pub) < 0);
}

static void removed(void) {
    slipring_publisher *pub = publisher("t", NULL);
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    uint64_t generation = topic_info("t").generation;
    send_text(pub, "old");
    CHECK_OK(slipring_topic_remove(bus, "t"));
    CHECK(!file_exists("t", "ring") && !file_exists("t", "readers"));
    CHECK_CODE(slipring_topic_remove(bus, "t"), SLIPRING_NOT_FOUND);
    all_say_gone(pub, sub);
    slipring_publisher *new_pub = publisher("t", NULL);
    slipring_subscriber *new_sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    CHECK(topic_info("t").generation != generation);
    send_text(new_pub, "new");
    expect_text(new_sub, "new");
    all_say_gone(pub, sub);
    slipring_publisher_close(pub);
    slipring_subscriber_close(sub);
    slipring_publisher_close(new_pub);
    slipring_subscriber_close(new_sub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

/* The files are deleted without a wake-up, as by RemoveIPC of logind. Waiters and publishers still notice. */
static void unlinked(void) {
    char path[128];
    slipring_publisher *pub = publisher("t", SETTINGS(.delivery = SLIPRING_RELIABLE, .slots = 16, .capacity = 4096));
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    int code;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/t.%s", bus, i ? "readers" : "ring");
        CHECK(unlink(path) == 0);
    }
    do code = slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0);
    while (code == SLIPRING_OK);
    CHECK_CODE(code, SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_FOREVER, NULL), SLIPRING_TOPIC_GONE);
    slipring_publisher_close(pub);
    slipring_subscriber_close(sub);
}

static void run(void) {
    removed();
    unlinked();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
