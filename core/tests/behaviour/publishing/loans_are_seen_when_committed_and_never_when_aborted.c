/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness.h"

static slipring_claim loan(slipring_publisher *pub, const char *text, const char *type) {
    slipring_claim claim;
    CHECK_OK(slipring_publisher_claim(pub, strlen(text), type, strlen(type), SLIPRING_NOW, &claim));
    CHECK_EQ(claim.size, strlen(text));
    memcpy(claim.body, text, strlen(text));
    return claim;
}

static void expect_typed(slipring_subscriber *sub, const char *text, const char *type) {
    static struct message m;
    CHECK(receive(sub, &m));
    CHECK(strcmp(m.body, text) == 0 && strcmp(m.type, type) == 0 && strcmp(m.sender, "tester") == 0);
}

/* Order is the order of claims, whatever the order of commits; nothing passes an open claim. */
static void keep_their_order(slipring_publisher *pub, slipring_subscriber *sub) {
    slipring_claim a = loan(pub, "a", "first type"), b = loan(pub, "bb", ""), c = loan(pub, "ccc", "third");
    send_typed(pub, "dddd", "fourth");
    CHECK_OK(slipring_publisher_commit(pub, &c));
    CHECK_OK(slipring_publisher_commit(pub, &b));
    expect_empty(sub);
    CHECK_OK(slipring_publisher_commit(pub, &a));
    expect_typed(sub, "a", "first type");
    expect_typed(sub, "bb", "");
    expect_typed(sub, "ccc", "third");
    expect_typed(sub, "dddd", "fourth");
    expect_empty(sub);
}

static void abort_is_invisible(slipring_publisher *pub, slipring_subscriber *sub) {
    for (int which = 0; which < 8; which++) {
        slipring_claim claims[3];
        for (int i = 0; i < 3; i++) claims[i] = loan(pub, "x", "");
        for (int i = 2; i >= 0; i--) {
            if (which >> i & 1) CHECK_OK(slipring_publisher_commit(pub, &claims[i]));
            else CHECK_OK(slipring_publisher_abort(pub, &claims[i]));
        }
        for (int i = 0; i < 3; i++)
            if (which >> i & 1) expect_typed(sub, "x", "");
        expect_empty(sub);
    }
}

static void closing_aborts(const char *topic, slipring_subscriber *sub, slipring_publisher *pub) {
    loan(pub, "never seen", "");
    send_text(pub, "behind it");
    loan(pub, "nor this", "");
    expect_empty(sub);
    slipring_publisher_close(pub);
    expect_text(sub, "behind it");
    expect_empty(sub);
    CHECK_EQ(topic_info(topic).unsettled, 0);
}

/* An own open claim a whole ring old refuses the next send; committing it lets publishing go on. */
static void a_claim_holds_the_ring(slipring_publisher *pub, slipring_subscriber *sub) {
    slipring_claim claim = loan(pub, "kept open", "");
    uint64_t seq;
    unsigned sent = 0;
    while (slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_NOW, &seq) == SLIPRING_OK) sent++;
    CHECK_EQ(slipring_last_error()->code, SLIPRING_FULL);
    CHECK(sent >= 8 && sent < 16);
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, slipring_deadline(0.01), &seq), SLIPRING_FULL);
    CHECK_OK(slipring_publisher_commit(pub, &claim));
    if (!slipring_publisher_reliable(pub)) send_text(pub, "x");
    static struct message m;
    while (receive(sub, &m)) continue;
    send_text(pub, "goes on");
    expect_text(sub, "goes on");
}

static void on(const char *topic, int delivery, int writers) {
    slipring_publisher *pub =
        publisher(topic, SETTINGS(.slots = 16, .capacity = 4096, .delivery = delivery, .writers = writers));
    slipring_subscriber *sub = subscriber(topic, SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (int round = 0; round < 20; round++) {
        keep_their_order(pub, sub);
        abort_is_invisible(pub, sub);
    }
    CHECK_EQ(counts(sub).lost, 0);
    CHECK_EQ(counts(sub).received, topic_info(topic).published);
    a_claim_holds_the_ring(pub, sub);
    closing_aborts(topic, sub, pub);
    verify(topic);
    slipring_subscriber_close(sub);
}

static void run(void) {
    on("a", SLIPRING_LOSSY, SLIPRING_WRITERS_MANY);
    on("b", SLIPRING_LOSSY, SLIPRING_WRITERS_ONE);
    on("c", SLIPRING_RELIABLE, SLIPRING_WRITERS_MANY);
    on("d", SLIPRING_RELIABLE, SLIPRING_WRITERS_ONE);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
