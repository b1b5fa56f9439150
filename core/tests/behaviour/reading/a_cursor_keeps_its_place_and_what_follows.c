/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness.h"

#define CURSOR(...) SUBSCRIBING(.cursor = "c", __VA_ARGS__)

static void numbers(slipring_publisher *pub, unsigned from, unsigned count) {
    char text[16];
    for (unsigned i = from; i < from + count; i++) {
        snprintf(text, sizeof text, "%u", i);
        send_text(pub, text);
    }
}

static void take(slipring_subscriber *sub, unsigned from, unsigned count) {
    char text[16];
    for (unsigned i = from; i < from + count; i++) {
        snprintf(text, sizeof text, "%u", i);
        expect_text(sub, text);
    }
}

/* Received but not committed: read again. Committed: never again. */
static void resumes(const char *topic, int delivery) {
    slipring_publisher *pub = publisher(topic, SETTINGS(.slots = 16, .capacity = 4096, .delivery = delivery));
    slipring_subscriber *sub = subscriber(topic, CURSOR(.start = SLIPRING_START_OLDEST));
    numbers(pub, 0, 10);
    take(sub, 0, 6);
    CHECK_OK(slipring_subscriber_commit(sub, 4));
    CHECK_CODE(slipring_subscriber_commit(sub, 3), SLIPRING_BAD_ARGUMENT); /* backwards */
    CHECK_CODE(slipring_subscriber_commit(sub, 7), SLIPRING_BAD_ARGUMENT); /* not received yet */
    slipring_subscriber_close(sub);
    sub = subscriber(topic, CURSOR(.start = SLIPRING_START_NEW)); /* start is for new cursors */
    take(sub, 4, 6);
    expect_empty(sub);
    CHECK_OK(slipring_subscriber_commit(sub, 10));
    slipring_subscriber_close(sub);
    numbers(pub, 10, 3);
    sub = subscriber(topic, CURSOR(.start = SLIPRING_START_NEW));
    take(sub, 10, 3);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

/* Unattended, a cursor on a reliable topic keeps the ring full; on a lossy one it only remembers and counts. */
static void holds(void) {
    slipring_publisher *pub = publisher("r", NULL);
    uint64_t seq;
    int refused = 0;
    for (int i = 0; i < 40 && !refused; i++)
        refused = slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_NOW, &seq) == SLIPRING_FULL;
    CHECK(refused);
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, slipring_deadline(0.02), &seq), SLIPRING_FULL);
    slipring_subscriber *sub = subscriber("r", CURSOR(.start = SLIPRING_START_NEW));
    static struct message m;
    while (receive(sub, &m)) continue;
    CHECK_EQ(counts(sub).lost, 0);
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_NOW, &seq), SLIPRING_FULL); /* not committed */
    CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    send_text(pub, "x");
    slipring_subscriber_close(sub);
    CHECK_OK(slipring_cursor_drop(bus, "r", "c"));
    for (int i = 0; i < 100; i++) send_text(pub, "x");
    slipring_publisher_close(pub);
}

static void remembers(void) {
    slipring_publisher *pub = publisher("l", NULL);
    slipring_subscriber *sub = subscriber("l", CURSOR(.start = SLIPRING_START_OLDEST));
    static struct message m;
    while (receive(sub, &m)) continue;
    uint64_t position = counts(sub).position;
    CHECK_OK(slipring_subscriber_commit(sub, position));
    slipring_subscriber_close(sub);
    for (int i = 0; i < 100; i++) {
        slipring_claim claim;
        send_text(pub, "x");
        CHECK_OK(slipring_publisher_claim(pub, 1, "", 0, SLIPRING_NOW, &claim));
        if (i % 25 == 0) CHECK_OK(slipring_publisher_abort(pub, &claim));
        else CHECK_OK(slipring_publisher_commit(pub, &claim));
    }
    sub = subscriber("l", CURSOR(.start = SLIPRING_START_OLDEST));
    while (receive(sub, &m)) continue;
    slipring_counts c = counts(sub);
    CHECK(c.lost > 100);
    CHECK_EQ(c.received + c.lost, 196);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

static void run(void) {
    resumes("r", SLIPRING_RELIABLE);
    resumes("l", SLIPRING_LOSSY);
    holds();
    remembers();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
