/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer dies with an open claim, before or after tail counts it. Readers stay at or below tail, with and
 * without a sweep. So a position committed there can be opened again, and no lag is negative.
 */
#include "base/crash_points.h"
#include "survivors.h"

static void die_at(void *point) {
    slipring_publisher *pub = publisher("t", NULL);
    slr_crash_point_arm(point, 1);
    send_text(pub, "never seen");
}

static void after(const char *point, bool sweep) {
    slipring_settings how = {.slots = 16, .capacity = 4096, .delivery = SLIPRING_RELIABLE};
    slipring_publisher *pub = publisher("t", &how);
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "c"));
    uint32_t swept;
    send_text(pub, "one");
    CHECK(child_killed(child_start(die_at, (void *)(uintptr_t)point)));
    if (sweep) CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
    expect_text(sub, "one");
    expect_empty(sub);
    CHECK(counts(sub).position <= counts(sub).tail);
    CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    slipring_subscriber_close(sub);
    sub = subscriber("t", SUBSCRIBING(.cursor = "c"));
    send_text(pub, "two");
    expect_text(sub, "two");
    CHECK_EQ(counts(sub).lost, 0);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void run(void) {
    static const char *const points[] = {"claim.reserved", "claim.before_tail", "claim.done", "commit.before_word"};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        after(points[i], false);
        after(points[i], true);
    }
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
