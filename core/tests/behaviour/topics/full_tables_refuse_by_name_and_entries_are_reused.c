/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 12.
 */
#include <string.h>

#include "harness.h"

static int open_writer(const char *topic) {
    slipring_publisher *pub;
    int code = try_publisher(topic, "late", NULL, &pub);
    if (code == SLIPRING_OK) slipring_publisher_close(pub);
    return code;
}

static void one_writer(void) {
    slipring_settings how = {.slots = 16, .capacity = 4096, .writers = SLIPRING_WRITERS_ONE};
    slipring_publisher *pub = publisher("one", &how);
    slipring_subscriber *sub = subscriber("one", SUBSCRIBING(.start = SLIPRING_START_NEW));
    CHECK_CODE(open_writer("one"), SLIPRING_BUSY);
    CHECK(strcmp(slipring_last_error()->argument, "writers") == 0);
    send_text(pub, "undisturbed");
    expect_text(sub, "undisturbed");
    slipring_publisher_close(pub);
    CHECK_OK(open_writer("one"));
    slipring_subscriber_close(sub);
}

static void some_writers(void) {
    slipring_publisher *pubs[3];
    for (int i = 0; i < 3; i++) pubs[i] = publisher("some", SETTINGS(.slots = 16, .capacity = 4096, .max_writers = 3));
    CHECK_CODE(open_writer("some"), SLIPRING_TOO_MANY_WRITERS);
    CHECK(strcmp(slipring_last_error()->argument, "max_writers") == 0);
    slipring_publisher_close(pubs[1]);
    for (int i = 0; i < 1000; i++) CHECK_OK(open_writer("some"));
    slipring_publisher_close(pubs[0]);
    slipring_publisher_close(pubs[2]);
    no_dead_entries("some");
}

static int open_reader(int lossy, int *entry) {
    slipring_subscriber *sub;
    int code = slipring_subscriber_open(bus, "r", SUBSCRIBING(.lossy = lossy), &sub);
    if (code == SLIPRING_OK) *entry = counts(sub).entry;
    if (code == SLIPRING_OK) slipring_subscriber_close(sub);
    return code;
}

static void readers(void) {
    static const slipring_settings small = {
        .slots = 16, .capacity = 4096, .max_readers = 2, .delivery = SLIPRING_RELIABLE};
    slipring_publisher *pub = publisher("r", &small);
    slipring_subscriber *a = subscriber("r", SUBSCRIBING(.start = SLIPRING_START_NEW));
    slipring_subscriber *b = subscriber("r", SUBSCRIBING(.lossy = ASK_LOSSY));
    int entry;
    CHECK_CODE(open_reader(AS_TOPIC, &entry), SLIPRING_TOO_MANY_READERS);
    CHECK(strcmp(slipring_last_error()->argument, "max_readers") == 0);
    CHECK_EQ(slipring_publisher_subscribers(pub), 2);
    CHECK_OK(open_reader(ASK_LOSSY, &entry));
    CHECK_EQ(entry, -1);
    slipring_subscriber *extra = subscriber("r", SUBSCRIBING(.lossy = ASK_LOSSY));
    send_text(pub, "for all three");
    expect_text(a, "for all three");
    expect_text(b, "for all three");
    expect_text(extra, "for all three");
    slipring_subscriber_close(extra);
    slipring_subscriber_close(b);
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(open_reader(i % 2 ? AS_TOPIC : ASK_LOSSY, &entry));
        CHECK_EQ(entry, 1);
    }
    CHECK_EQ(slipring_publisher_subscribers(pub), 1);
    slipring_subscriber_close(a);
    slipring_publisher_close(pub);
    no_dead_entries("r");
}

static void run(void) {
    one_writer();
    some_writers();
    readers();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
