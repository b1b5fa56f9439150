/* SPDX-License-Identifier: Apache-2.0
 *
 * A reliable subscriber that reads ahead for somebody else: publishers wait until that one has passed a message.
 */
#include <string.h>

#include "harness.h"

#define USABLE 15

static unsigned publish_until_full(slipring_publisher *pub) {
    for (unsigned sent = 0; sent < 1000; sent++) {
        int code = slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_NOW, NULL);
        if (code == SLIPRING_FULL) return sent;
        CHECK_OK(code);
    }
    return 1000;
}

static void read_all(slipring_subscriber *sub) {
    slipring_message m;
    while (slipring_subscriber_peek(sub, &m) == SLIPRING_OK) CHECK_OK(slipring_subscriber_accept(sub));
}

static void publishers_wait_for_what_is_kept(slipring_publisher *pub, slipring_subscriber *sub) {
    CHECK_OK(slipring_subscriber_keep(sub, 0));
    CHECK_EQ(publish_until_full(pub), USABLE);
    read_all(sub);
    CHECK_EQ(publish_until_full(pub), 0);
    CHECK_OK(slipring_subscriber_keep(sub, 4));
    CHECK_EQ(publish_until_full(pub), 4);
    read_all(sub);
    CHECK_EQ(publish_until_full(pub), 0);
    CHECK_OK(slipring_subscriber_keep(sub, USABLE + 4));
    CHECK_EQ(publish_until_full(pub), USABLE);
    CHECK_EQ(counts(sub).lost, 0);
}

static void it_only_moves_up_and_not_past_the_position(slipring_subscriber *sub) {
    uint64_t position = counts(sub).position;
    CHECK_CODE(slipring_subscriber_keep(sub, position + 1), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_subscriber_keep(sub, position - 1), SLIPRING_BAD_ARGUMENT);
    CHECK_OK(slipring_subscriber_keep(sub, position));
}

/* After a seek back, messages are kept from the new position. The kept position advances only by keep(). */
static void a_seek_begins_again(slipring_publisher *pub, slipring_subscriber *sub) {
    uint64_t position = counts(sub).position;
    read_all(sub);
    CHECK_OK(slipring_subscriber_keep(sub, position + USABLE));
    CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_SEQ, position + 10));
    CHECK_OK(slipring_subscriber_keep(sub, position + 10));
    CHECK_EQ(publish_until_full(pub), 10);
    read_all(sub);
    CHECK_EQ(publish_until_full(pub), 0);
    CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_NEW, 0));
    CHECK_OK(slipring_subscriber_keep(sub, counts(sub).position));
    CHECK_EQ(publish_until_full(pub), USABLE);
}

static void run(void) {
    slipring_publisher *pub = publisher("r", SETTINGS(.slots = 16, .capacity = 4096, .delivery = SLIPRING_RELIABLE));
    slipring_subscriber *sub = subscriber("r", SUBSCRIBING(.start = SLIPRING_START_NEW));
    publishers_wait_for_what_is_kept(pub, sub);
    it_only_moves_up_and_not_past_the_position(sub);
    a_seek_begins_again(pub, sub);
    slipring_subscriber *tap = subscriber("r", SUBSCRIBING(.lossy = ASK_LOSSY));
    CHECK_CODE(slipring_subscriber_keep(tap, 0), SLIPRING_BAD_ARGUMENT);
    slipring_subscriber *named = subscriber("r", SUBSCRIBING(.cursor = "c"));
    CHECK_CODE(slipring_subscriber_keep(named, 0), SLIPRING_BAD_ARGUMENT);
    slipring_subscriber_close(named);
    slipring_subscriber_close(tap);
    slipring_subscriber_close(sub);
    CHECK_OK(slipring_cursor_drop(bus, "r", "c"));
    CHECK_EQ(publish_until_full(pub), 1000);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
