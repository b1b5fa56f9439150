/* SPDX-License-Identifier: Apache-2.0
 *
 * Two writers and a reader, or one and one, in every way of writing and reading.
 */
#include "ring_setup.h"

#define RELIABLE SLIPRING_RELIABLE
#define LOSSY SLIPRING_LOSSY

#define SETUP(name, ...) \
    static void setup_##name(void) { ring_setup((struct ring_how){__VA_ARGS__}); }

#define TWO_WRITERS(title, read, bounds, ...)                                                                    \
    SETUP(title, __VA_ARGS__)                                                                                    \
    extern const struct scenario scenario_##title; \
    const struct scenario scenario_##title = {.name = #title, .setup = setup_##title, .judge = ring_judge, .threads = 3, \
        .role = {ring_write_first, ring_write_second, read}, .may_crash = true, .all = bounds}

static void nothing(void) {}
/* The reader is thread 2 everywhere. */
#define ONE_WRITER(title, read, bounds, ...)                                                                     \
    SETUP(title, .one = 1, __VA_ARGS__)                                                                          \
    extern const struct scenario scenario_##title; \
    const struct scenario scenario_##title = {.name = #title, .setup = setup_##title, .judge = ring_judge, .threads = 3, \
        .role = {ring_write_first, nothing, read}, .may_crash = true, .all = bounds}

#define BOUNDS(...) {__VA_ARGS__}

TWO_WRITERS(lossy_many_copy, ring_read_copies, BOUNDS({3, 0, 0}, {2, 1, 0}, {1, 0, 1}), .edge = PAYLOAD_EDGE, .sends = 1);
TWO_WRITERS(lossy_many_held, ring_read_held, BOUNDS({3, 0, 0}, {1, 1, 0}, {1, 0, 1}), .edge = PAYLOAD_EDGE, .sends = 1);
TWO_WRITERS(lossy_many_batch, ring_read_batches, BOUNDS({2, 1, 0}), .edge = PAYLOAD_EDGE, .sends = 1);
TWO_WRITERS(lossy_many_slots, ring_read_copies, BOUNDS({3, 0, 0}, {2, 1, 0}), .edge = SLOTS_EDGE, .sends = 1);
TWO_WRITERS(reliable_many_copy, ring_read_copies, BOUNDS({3, 0, 0}, {1, 1, 0}, {1, 0, 1}), .delivery = RELIABLE, .edge = PAYLOAD_EDGE, .sends = 1);
TWO_WRITERS(reliable_many_held, ring_read_held, BOUNDS({2, 1, 0}), .delivery = RELIABLE, .edge = PAYLOAD_EDGE, .sends = 1);
TWO_WRITERS(reliable_many_waiting, ring_read_copies, BOUNDS({1, 1, 0}), .delivery = RELIABLE, .edge = PAYLOAD_EDGE, .sends = 1,
            .writers_wait = true, .reader_waits = true);
TWO_WRITERS(sleep_and_wake_many, ring_read_copies, BOUNDS({3, 0, 0}, {2, 1, 0}, {1, 0, 1}), .sends = 1, .reader_waits = true);
TWO_WRITERS(loans_many, ring_read_copies, BOUNDS({2, 1, 0}), .edge = PAYLOAD_EDGE, .sends = 1, .loans = true);
TWO_WRITERS(reliable_joining, ring_read_copies, BOUNDS({2, 0, 0}), .delivery = RELIABLE, .edge = SLOTS_EDGE, .sends = 1, .joins = true);
TWO_WRITERS(runs_many, ring_read_copies, BOUNDS({2, 0, 0}, {1, 1, 0}, {1, 0, 1}), .sends = 3, .runs = true);
TWO_WRITERS(runs_many_slots, ring_read_columns, BOUNDS({1, 1, 0}), .edge = SLOTS_EDGE, .sends = 3,
            .runs = true);
ONE_WRITER(columns_one, ring_read_columns, BOUNDS({3, 0, 0}, {2, 1, 0}, {2, 0, 1}), .edge = PAYLOAD_EDGE, .sends = 3);
ONE_WRITER(lossy_one_copy, ring_read_copies, BOUNDS({3, 0, 0}, {2, 1, 0}, {2, 0, 1}), .edge = PAYLOAD_EDGE, .sends = 3);
ONE_WRITER(lossy_one_held, ring_read_held, BOUNDS({3, 0, 0}, {2, 1, 0}, {2, 0, 1}), .edge = PAYLOAD_EDGE, .sends = 3);
ONE_WRITER(reliable_one_batch, ring_read_batches, BOUNDS({3, 0, 0}, {2, 1, 0}, {2, 0, 1}), .delivery = RELIABLE, .edge = PAYLOAD_EDGE, .sends = 3);
ONE_WRITER(sleep_and_wake_one, ring_read_copies, BOUNDS({3, 0, 0}, {2, 1, 0}, {2, 0, 1}), .sends = 2, .reader_waits = true);

SETUP(sleep_and_removal, .one = 1, .reader_waits = true)
static void judge_nothing(void) {}
extern const struct scenario scenario_sleep_and_removal;
const struct scenario scenario_sleep_and_removal = {.name = "sleep_and_removal", .setup = setup_sleep_and_removal,
    .judge = judge_nothing, .threads = 3, .role = {ring_remove, nothing, ring_read_until_removed},
    .all = BOUNDS({3, 0, 0}, {2, 1, 0})};
