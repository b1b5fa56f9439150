/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 5: whatever was sent since the last look, one message: the newest that passes. The rest is filtered,
 * exactly.
 */
#include <string.h>

#include "harness.h"

static void send_numbers(slipring_publisher *pub, unsigned from, unsigned count, const char *type) {
    char text[16];
    for (unsigned i = from; i < from + count; i++) {
        snprintf(text, sizeof text, "%u", i);
        send_typed(pub, text, type);
    }
}

static void newest_of(slipring_publisher *pub, slipring_subscriber *sub, unsigned *sent, unsigned count) {
    char text[16];
    send_numbers(pub, *sent, count, "");
    *sent += count;
    snprintf(text, sizeof text, "%u", *sent - 1);
    if (count) expect_text(sub, text);
    expect_empty(sub);
}

static void everything_is_counted(slipring_subscriber *sub, uint64_t published) {
    slipring_counts c = counts(sub);
    CHECK_EQ(c.lost, 0);
    CHECK_EQ(c.received + c.filtered, published);
}

static void any_number(const char *topic, int delivery, int writers) {
    slipring_publisher *pub =
        publisher(topic, SETTINGS(.slots = 32, .capacity = 4096, .delivery = delivery, .writers = writers));
    slipring_subscriber *sub = subscriber(topic, SUBSCRIBING(.conflate = true));
    unsigned sent = 0;
    for (unsigned count = 0; count < 20; count++) newest_of(pub, sub, &sent, count);
    everything_is_counted(sub, sent);
    if (delivery == SLIPRING_LOSSY)
        for (unsigned count = 20; count < 400; count += 13) newest_of(pub, sub, &sent, count);
    everything_is_counted(sub, sent);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

/* A claim that stays open does not hide newer messages; committed late, it is passed over and counted. */
static void behind_an_open_claim(bool commit) {
    slipring_publisher *pub = publisher("open", SETTINGS(.slots = 32, .capacity = 4096));
    slipring_subscriber *sub = subscriber("open", SUBSCRIBING(.conflate = true));
    slipring_claim claim;
    send_text(pub, "before");
    CHECK_OK(slipring_publisher_claim(pub, 4, "", 0, SLIPRING_NOW, &claim));
    send_text(pub, "after");
    expect_text(sub, "after");
    memcpy(claim.body, "late", 4);
    CHECK_OK(commit ? slipring_publisher_commit(pub, &claim) : slipring_publisher_abort(pub, &claim));
    send_text(pub, "last");
    expect_text(sub, "last");
    expect_empty(sub);
    everything_is_counted(sub, commit ? 4 : 3);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, "open"));
}

static void with_a_filter(void) {
    slipring_publisher *pub = publisher("f", SETTINGS(.slots = 32, .capacity = 4096));
    slipring_text yes = {"yes", 3};
    slipring_filter filter = {.types = &yes, .type_count = 1, .only_types = true};
    slipring_subscriber *sub = subscriber("f", SUBSCRIBING(.conflate = true, .filter = &filter));
    send_numbers(pub, 0, 5, "yes");
    send_numbers(pub, 5, 5, "no");
    expect_text(sub, "4");
    send_numbers(pub, 10, 5, "no");
    expect_empty(sub);
    send_numbers(pub, 15, 1, "yes");
    expect_text(sub, "15");
    everything_is_counted(sub, 16);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

static void run(void) {
    any_number("a", SLIPRING_LOSSY, SLIPRING_WRITERS_MANY);
    any_number("b", SLIPRING_LOSSY, SLIPRING_WRITERS_ONE);
    any_number("c", SLIPRING_RELIABLE, SLIPRING_WRITERS_MANY);
    behind_an_open_claim(true);
    behind_an_open_claim(false);
    with_a_filter();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
