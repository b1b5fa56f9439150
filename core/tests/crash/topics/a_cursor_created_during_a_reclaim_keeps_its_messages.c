/* SPDX-License-Identifier: Apache-2.0
 *
 * A cursor is created while a publisher is about to move oldest past its position. The messages from its
 * position on stay in the ring, and the next subscriber on the cursor reads all of them.
 */
#include <string.h>

#include "harness.h"
#include "base/crash_points.h"

#define SLOTS 64

static uint64_t place = UINT64_MAX;

static void make_cursor(const char *point) {
    if (strcmp(point, "reclaim.before_oldest")) return;
    slr_crash_point_watch(NULL);
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "v", .start = SLIPRING_START_OLDEST));
    place = counts(sub).position;
    slipring_subscriber_close(sub);
}

static void run(void) {
    static struct message m;
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = SLOTS, .capacity = 4096, .delivery = SLIPRING_RELIABLE), false));
    slipring_publisher *pub = publisher("t", NULL);
    slr_crash_point_watch(make_cursor);
    int code;
    while ((code = slipring_publisher_send(pub, "text", 4, "", 0, SLIPRING_NOW, NULL)) == SLIPRING_OK) continue;
    CHECK_CODE(code, SLIPRING_FULL);
    CHECK(place != UINT64_MAX);
    slipring_topic_info info = topic_info("t");
    CHECK(info.oldest > place); /* else this test has not tried anything */
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "v"));
    CHECK_EQ(counts(sub).position, place);
    for (uint64_t seq = place; seq < info.tail; seq++) {
        CHECK(receive(sub, &m));
        CHECK_EQ(m.head.seq, seq);
    }
    expect_empty(sub);
    CHECK_EQ(counts(sub).lost, 0);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
