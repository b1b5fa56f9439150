/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariant 2 for a subscriber that starts while the ring goes round: more sequences are abandoned than the ring has
 * slots, so that their number is known only to a reader that knows how many were abandoned below its place.
 */
#include <string.h>

#include "harness.h"
#include "base/crash_points.h"

#define SLOTS 16u
#define MOST 4096

static slipring_publisher *pub;
static bool abandoned[MOST];
static uint64_t tail;
static int rounds_left;

static void send_one(void) {
    CHECK(tail < MOST);
    send_text(pub, "text");
    abandoned[tail++] = false;
}

static void abandon_one(void) {
    slipring_claim claim;
    CHECK(tail < MOST);
    CHECK_OK(slipring_publisher_claim(pub, 4, "", 0, SLIPRING_NOW, &claim));
    CHECK_OK(slipring_publisher_abort(pub, &claim));
    abandoned[tail++] = true;
}

/* The ring goes round several times; most of it is abandoned. */
static void go_round(void) {
    for (unsigned i = 0; i < 4 * SLOTS; i++) {
        abandon_one();
        if (i % 8 == 0) send_one();
    }
}

static void overtake(const char *point) {
    if (strcmp(point, "start.placed") || rounds_left == 0) return;
    rounds_left--;
    go_round();
}

static uint64_t messages_from(uint64_t from) {
    uint64_t count = 0;
    for (uint64_t seq = from; seq < tail; seq++) count += !abandoned[seq];
    return count;
}

static void read_all(slipring_subscriber *sub, uint64_t start, uint64_t lost_before) {
    static struct message m;
    uint64_t received = 0;
    while (receive(sub, &m)) received++;
    CHECK_EQ(received + counts(sub).lost - lost_before, messages_from(start));
}

/* start: as for a subscriber; from: where counting begins, UINT64_MAX: where it was placed. */
static void try_start(int start, uint64_t from, int rounds) {
    rounds_left = rounds;
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .start = start, .start_seq = from));
    CHECK_EQ(rounds_left, 0); /* else this test has not tried anything */
    if (from == UINT64_MAX) from = counts(sub).position;
    uint64_t lost_at_start = counts(sub).lost;
    CHECK_EQ(lost_at_start, start == SLIPRING_START_SEQ ? messages_from(from) - messages_from(counts(sub).position) : 0);
    go_round();
    go_round();
    read_all(sub, from, 0);
    slipring_subscriber_close(sub);
}

static void run(void) {
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = SLOTS, .capacity = 4096), false));
    pub = publisher("t", NULL);
    for (unsigned i = 0; i < 3 * SLOTS; i++) send_one();
    slr_crash_point_watch(overtake);
    try_start(SLIPRING_START_SEQ, tail - 2 * SLOTS, 0); /* gone, and nothing of what is between was abandoned */
    for (int rounds = 0; rounds < 4; rounds++) {
        try_start(SLIPRING_START_OLDEST, UINT64_MAX, rounds);
        try_start(SLIPRING_START_LAST, UINT64_MAX, rounds);
        try_start(SLIPRING_START_NEW, UINT64_MAX, rounds);
    }
    slr_crash_point_watch(NULL);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
