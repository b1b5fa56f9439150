/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 4: new, last, oldest, or a given sequence, at opening and by seek.
 */
#include "harness.h"

#define SLOTS 16u

static void expect_from(slipring_subscriber *sub, uint64_t from, uint64_t to) {
    static struct message m;
    for (uint64_t seq = from; seq < to; seq++) {
        CHECK(receive(sub, &m));
        CHECK_EQ(m.head.seq, seq);
        CHECK_EQ((unsigned char)m.body[0], seq & 0x7f);
    }
    expect_empty(sub);
}

static void publish(slipring_publisher *pub, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        char body = (char)(topic_info("t").tail & 0x7f);
        CHECK_OK(slipring_publisher_send(pub, &body, 1, "", 0, SLIPRING_NOW, NULL));
    }
}

static void at(int start, uint64_t seq, uint64_t from, uint64_t lost) {
    uint64_t tail = topic_info("t").tail;
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = start, .start_seq = seq));
    expect_from(sub, from, tail);
    CHECK_EQ(counts(sub).lost, lost);
    slipring_subscriber_close(sub);
    sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    expect_empty(sub);
    CHECK_OK(slipring_subscriber_seek(sub, start, seq));
    expect_from(sub, from, tail);
    CHECK_OK(slipring_subscriber_seek(sub, start, seq)); /* back again */
    expect_from(sub, from, tail);
    CHECK_EQ(counts(sub).lost, 2 * lost);
    slipring_subscriber_close(sub);
}

static void everywhere(void) {
    slipring_topic_info info = topic_info("t");
    slipring_subscriber *sub;
    at(SLIPRING_START_NEW, 0, info.tail, 0);
    at(SLIPRING_START_LAST, 0, info.tail ? info.tail - 1 : 0, 0);
    at(SLIPRING_START_OLDEST, 0, info.oldest, 0);
    for (uint64_t seq = info.oldest; seq <= info.tail; seq++) at(SLIPRING_START_SEQ, seq, seq, 0);
    for (uint64_t seq = 0; seq < info.oldest; seq += 3) at(SLIPRING_START_SEQ, seq, info.oldest, info.oldest - seq);
    for (uint64_t seq = info.tail + 1; seq < info.tail + 3; seq++) {
        const slipring_subscriber_settings *how = SUBSCRIBING(.start = SLIPRING_START_SEQ, .start_seq = seq);
        CHECK_CODE(slipring_subscriber_open(bus, "t", how, &sub), SLIPRING_BAD_ARGUMENT);
    }
}

/* Seeking refused: the subscriber stays where it was. */
static void refused(slipring_publisher *pub) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    send_text(pub, "here");
    CHECK_CODE(slipring_subscriber_seek(sub, SLIPRING_START_SEQ, UINT64_MAX), SLIPRING_BAD_ARGUMENT);
    expect_text(sub, "here");
    slipring_subscriber_close(sub);
}

static void run(void) {
    int delivery = harness_argument("reliable") ? SLIPRING_RELIABLE : SLIPRING_LOSSY;
    int writers = harness_argument("one") ? SLIPRING_WRITERS_ONE : SLIPRING_WRITERS_MANY;
    slipring_publisher *pub =
        publisher("t", SETTINGS(.slots = SLOTS, .capacity = 4096, .delivery = delivery, .writers = writers));
    everywhere();
    for (int round = 0; round < 20; round++) {
        publish(pub, 7);
        everywhere();
    }
    refused(pub);
    verify("t");
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
