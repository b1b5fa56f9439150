/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 8 and invariant 5: no number of later messages changes a held message. On a lossy topic a send is
 * refused only because of a held message that is a whole ring old.
 */
#include <string.h>

#include "harness.h"

static void hold_text(slipring_subscriber *sub, slipring_message *m, const char *text) {
    CHECK_OK(slipring_subscriber_hold(sub, m));
    CHECK(m->size == strlen(text) && memcmp(m->body, text, m->size) == 0);
}

static unsigned publish_until_full(slipring_publisher *pub) {
    for (unsigned sent = 0; sent < 1000; sent++) {
        int code = slipring_publisher_send(pub, "overwriting everything", 22, "", 0, SLIPRING_NOW, NULL);
        if (code == SLIPRING_FULL) return sent;
        CHECK_OK(code);
    }
    return 1000;
}

static void outlasts_everything(slipring_publisher *pub, slipring_subscriber *sub) {
    slipring_message first, second;
    send_text(pub, "held one");
    send_text(pub, "held two");
    hold_text(sub, &first, "held one");
    hold_text(sub, &second, "held two");
    CHECK(publish_until_full(pub) < 40);
    CHECK(memcmp(first.body, "held one", 8) == 0 && memcmp(second.body, "held two", 8) == 0);
    CHECK_OK(slipring_subscriber_release(sub, second.seq));
    CHECK_EQ(publish_until_full(pub), 0);
    CHECK(memcmp(first.body, "held one", 8) == 0);
    CHECK_OK(slipring_subscriber_release(sub, first.seq));
    CHECK(publish_until_full(pub) >= (slipring_publisher_reliable(pub) ? 1 : 1000));
}

static void as_many_as_there_are(slipring_publisher *pub, slipring_subscriber *sub) {
    slipring_message held[256], one_more;
    CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_NEW, 0));
    for (int i = 0; i < 257; i++) send_text(pub, "m");
    for (int i = 0; i < 256; i++) hold_text(sub, &held[i], "m");
    CHECK_CODE(slipring_subscriber_hold(sub, &one_more), SLIPRING_BUSY);
    for (int i = 0; i < 256; i++) CHECK_OK(slipring_subscriber_release(sub, held[i ^ 5].seq));
    hold_text(sub, &one_more, "m");
    CHECK_OK(slipring_subscriber_release(sub, one_more.seq));
    CHECK_CODE(slipring_subscriber_hold(sub, &one_more), SLIPRING_EMPTY);
}

static void on(const char *topic, int delivery, int writers, int lossy, const char *cursor) {
    slipring_publisher *pub =
        publisher(topic, SETTINGS(.slots = 16, .capacity = 4096, .delivery = delivery, .writers = writers));
    slipring_subscriber *sub = subscriber(topic, SUBSCRIBING(.lossy = lossy, .cursor = cursor));
    outlasts_everything(pub, sub);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, topic));
}

/* No entry, no hold; and giving back what one does not have is an error, not a crash. */
static void without_an_entry(void) {
    slipring_publisher *pub = publisher("e", SETTINGS(.max_readers = 1));
    slipring_subscriber *sub = subscriber("e", SUBSCRIBING(.start = SLIPRING_START_NEW));
    slipring_subscriber *extra = subscriber("e", SUBSCRIBING(.start = SLIPRING_START_NEW));
    slipring_message m;
    CHECK_EQ(counts(extra).entry, -1);
    send_text(pub, "all the same");
    CHECK_CODE(slipring_subscriber_hold(extra, &m), SLIPRING_TOO_MANY_READERS);
    expect_text(extra, "all the same");
    slipring_subscriber_release(extra, 0);
    slipring_subscriber_release(sub, 12345);
    expect_text(sub, "all the same");
    slipring_subscriber_close(extra);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

static void run(void) {
    on("a", SLIPRING_LOSSY, SLIPRING_WRITERS_MANY, AS_TOPIC, NULL);
    on("b", SLIPRING_LOSSY, SLIPRING_WRITERS_ONE, AS_TOPIC, NULL);
    on("c", SLIPRING_RELIABLE, SLIPRING_WRITERS_MANY, ASK_LOSSY, NULL);
    on("d", SLIPRING_RELIABLE, SLIPRING_WRITERS_ONE, AS_TOPIC, NULL);
    on("e", SLIPRING_LOSSY, SLIPRING_WRITERS_MANY, AS_TOPIC, "c");
    slipring_publisher *pub = publisher("many", SETTINGS(.slots = 1024));
    slipring_subscriber *sub = subscriber("many", SUBSCRIBING(.start = SLIPRING_START_NEW));
    as_many_as_there_are(pub, sub);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
    without_an_entry();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
