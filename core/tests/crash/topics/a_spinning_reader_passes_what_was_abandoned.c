/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader that spins for seconds gets what stands behind an aborted loan, and behind the claim of a dead publisher, at once
 * and not when it has spun to the end.
 */
#include <stdatomic.h>
#include <string.h>

#include "harness.h"
#include "base/crash_points.h"

#define SPIN_NS (8000 * INT64_C(1000000))
#define PATIENCE_S 4

static atomic_int *spinning;

static void spin_and_read(void *unused) {
    static struct message m;
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    (void)unused;
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    int64_t deadline = slipring_deadline(PATIENCE_S);
    atomic_store(spinning, 1);
    while (slipring_subscriber_recv(sub, m.body, sizeof m.body, &m.head, meta, SLIPRING_NOW) == SLIPRING_EMPTY)
        CHECK_OK(slipring_wait(&sub, 1, NULL, 0, deadline, SPIN_NS));
    CHECK_EQ(m.head.size, 4);
    slipring_subscriber_close(sub);
}

static void die_with_a_claim(void *unused) {
    (void)unused;
    slr_crash_point_arm("send.filled", 1);
    send_text(publisher("t", NULL), "lost");
}

static void try_it(bool killed) {
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = 16, .capacity = 4096), false));
    slipring_publisher *pub = publisher("t", NULL);
    slipring_claim claim;
    atomic_store(spinning, 0);
    pid_t reader = child_start(spin_and_read, NULL);
    while (!atomic_load(spinning)) pause_us(50);
    pause_us(2000); /* it is at it by then; if not, it has less to do */
    if (killed) {
        CHECK(child_killed(child_start(die_with_a_claim, NULL)));
    } else {
        CHECK_OK(slipring_publisher_claim(pub, 4, "", 0, SLIPRING_NOW, &claim));
        CHECK_OK(slipring_publisher_abort(pub, &claim));
    }
    send_text(pub, "text");
    child_join(reader);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void run(void) {
    spinning = shared_memory(sizeof *spinning);
    try_it(false);
    try_it(true);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
