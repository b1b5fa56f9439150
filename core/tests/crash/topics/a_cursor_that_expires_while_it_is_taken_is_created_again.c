/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody who attaches lets a cursor expire just when another subscriber has found it and not yet locked it. That one gets
 * a cursor all the same, a new one, which holds.
 */
#include <string.h>

#include "harness.h"
#include "base/crash_points.h"

#define SLOTS 16
#define EXPIRES_MS 40

static slipring_publisher *pub;
static int sent;

static void fill(void) {
    int code;
    while ((code = slipring_publisher_send(pub, "text", 4, "", 0, SLIPRING_NOW, NULL)) == SLIPRING_OK) sent++;
    CHECK_CODE(code, SLIPRING_FULL);
}

static void let_it_expire(const char *point) {
    if (strcmp(point, "cursor.found")) return;
    slr_crash_point_watch(NULL);
    pause_us(2000 * EXPIRES_MS);
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = 1};
    slipring_subscriber *other;
    CHECK_OK(slipring_subscriber_open(bus, "t", &how, &other)); /* sweeps */
    slipring_subscriber_close(other);
}

static slipring_subscriber *taken(void) {
    return subscriber("t", SUBSCRIBING(.cursor = "v", .start = SLIPRING_START_NEW, .expires_ns = EXPIRES_MS * INT64_C(1000000)));
}

static void run(void) {
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = SLOTS, .capacity = 4096, .delivery = SLIPRING_RELIABLE), false));
    pub = publisher("t", NULL);
    slipring_subscriber_close(taken());
    fill();
    const int room = sent;
    slr_crash_point_watch(let_it_expire);
    slipring_subscriber *sub = taken();
    sent = 0;
    fill(); /* up to its place */
    CHECK_EQ(sent, room);
    for (int i = 0; i < room; i++) expect_text(sub, "text");
    expect_empty(sub);
    CHECK_EQ(counts(sub).lost, 0);
    CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
