/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 13: who opens with other settings gets an error with both values, and nothing is changed.
 */
#include <string.h>

#include "harness.h"

static const slipring_settings base = {
    .capacity = 65536, .slots = 64, .delivery = 0, .writers = 0, .max_readers = 8, .max_writers = 5, .max_cursors = 3};

static void refused(slipring_settings asked, const char *argument, const char *found, const char *wanted) {
    slipring_publisher *pub;
    uint64_t generation = topic_info("t").generation;
    CHECK_CODE(try_publisher("t", "x", &asked, &pub), SLIPRING_EXISTS);
    CHECK_CODE(slipring_topic_create(bus, "t", &asked, true), SLIPRING_EXISTS);
    const slipring_error *e = slipring_last_error();
    CHECK(strcmp(e->argument, argument) == 0);
    CHECK(strcmp(e->found, found) == 0);
    CHECK(strcmp(e->asked, wanted) == 0);
    CHECK(strstr(e->message, found) && strstr(e->message, wanted));
    CHECK_EQ(topic_info("t").generation, generation);
}


static void same_or_unsaid(slipring_settings asked) {
    slipring_publisher *pub = publisher("t", &asked);
    CHECK_OK(slipring_topic_create(bus, "t", &asked, true));
    slipring_publisher_close(pub);
}

static void roundings(void) {
    slipring_settings odd = {.capacity = 5000, .slots = 17};
    CHECK_OK(slipring_topic_create(bus, "odd", &odd, false));
    CHECK_EQ(topic_info("odd").capacity, 8192);
    CHECK_EQ(topic_info("odd").slots, 32);
    CHECK_OK(slipring_topic_create(bus, "odd", &odd, true)); /* the same request fits what it made */
    slipring_settings tiny = {.capacity = 1, .slots = 1};
    CHECK_OK(slipring_topic_create(bus, "tiny", &tiny, false));
    CHECK_EQ(topic_info("tiny").capacity, 4096);
    CHECK_EQ(topic_info("tiny").slots, 16);
}

static void each_refused(void) {
    slipring_settings other;
    other = base;
    other.capacity = 131072;
    refused(other, "capacity", "65536", "131072");
    other = base;
    other.slots = 128;
    refused(other, "slots", "64", "128");
    other = base;
    other.delivery = SLIPRING_RELIABLE;
    refused(other, "delivery", "lossy", "reliable");
    other = base;
    other.writers = SLIPRING_WRITERS_ONE;
    refused(other, "writers", "many", "one");
    other = base;
    other.max_readers = 9;
    refused(other, "max_readers", "8", "9");
    other = base;
    other.max_writers = 6;
    refused(other, "max_writers", "5", "6");
    other = base;
    other.max_cursors = 4;
    refused(other, "max_cursors", "3", "4");
}

static void run(void) {
    CHECK_OK(slipring_topic_create(bus, "t", &base, false));
    CHECK_CODE(slipring_topic_create(bus, "t", &base, false), SLIPRING_EXISTS);
    same_or_unsaid(base);
    same_or_unsaid((slipring_settings)SLIPRING_SETTINGS_DEFAULT);
    same_or_unsaid((slipring_settings){.capacity = 40000, .delivery = -1, .writers = -1}); /* rounds to what is there */
    each_refused();
    roundings();
    slipring_subscriber *sub;
    CHECK_CODE(slipring_subscriber_open(bus, "t", SUBSCRIBING(.lossy = ASK_RELIABLE), &sub), SLIPRING_BAD_ARGUMENT);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
