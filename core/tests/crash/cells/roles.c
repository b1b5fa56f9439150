/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything an end of cells can be doing when it is killed.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "survivors.h"
#include "base/crash_points.h"

const char *const points[] = {
#include "cells-points-in-sources.h"
};
const size_t point_count = sizeof points / sizeof points[0];
_Static_assert(sizeof points / sizeof points[0] <= MAX_POINTS, "more points than there is room for");

struct ends_log *record;
uint32_t depth;

static void (*at_race)(void); /* what the other end does, once for each act of the first */
static const char *race_point;
slipring_cells_writer *writer;
slipring_cells_reader *reader;

void note(const char *name) {
    for (size_t i = 0; i < point_count; i++)
        if (strcmp(points[i], name) == 0) record->hits[i]++;
    if (strcmp(name, "cells.put.swapped") == 0) record->committed++;
    if (race_point && strcmp(name, race_point) == 0) {
        race_point = NULL;
        at_race();
    }
}

void put_next(void) { CHECK_EQ(put_stamped(writer, record->committed), record->committed - 1); }

static void judge_delivered(const slipring_element *element) {
    CHECK(element->seq >= record->delivered && element->seq < record->committed);
    CHECK_EQ(stamp_of(reader, element), element->seq);
    record->delivered = element->seq + 1;
    record->returned++;
}

static size_t take_some(void) {
    const slipring_element *elements;
    size_t count;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
    for (size_t i = 0; i < count; i++) judge_delivered(&elements[i]);
    return count;
}

void take_all(void) { take_some(); }

void take_newest(void) {
    slipring_element element;
    int code = slipring_cells_reader_take_newest(reader, &element);
    if (code != SLIPRING_EMPTY) CHECK_OK(code);
    if (!code) judge_delivered(&element);
}

void write_some(void) {
    writer = cells_writer("c");
    for (uint32_t i = 0; i < 2 * depth + 1; i++) put_next();
    slipring_cells_writer_close(writer);
}

void read_some(void) {
    reader = cells_reader("c");
    take_all();
    take_newest();
    slipring_cells_reader_close(reader);
}

static void write_under_takes(void) {
    writer = cells_writer("c");
    reader = cells_reader("c");
    at_race = take_all;
    for (uint32_t i = 0; i < 2 * depth + 1; i++) {
        race_point = "cells.put.before_swap"; /* after the read of the word: the swap fails once */
        put_next();
    }
}

static void lap(void) {
    for (uint32_t i = 0; i < depth + 1; i++) put_next();
}

static void read_under_puts(void) {
    writer = cells_writer("c");
    reader = cells_reader("c");
    at_race = lap;
    for (int i = 0; i < 4; i++) {
        put_next();
        race_point = i % 2 ? NULL : "cells.take.before";
        bool raced = race_point;
        size_t count = i < 2 ? take_some() : 0;
        if (i < 2 && raced) CHECK_EQ(count, depth); /* the writer went round: all slots have something new */
        if (i >= 2) take_newest();
    }
}

static void write_for_a_sleeper(void) {
    writer = cells_writer("c");
    reader = cells_reader("c");
    take_all();
    CHECK_CODE(slipring_cells_reader_wait(reader, slipring_deadline(0.0001), 0), SLIPRING_TIMEOUT);
    put_next(); /* wakes */
    take_newest();
}

void create(void) { make_cells("c", depth); }
void remove_cells(void) {
    int code = slipring_cells_remove(bus, "c");
    if (code != SLIPRING_NOT_FOUND) CHECK_OK(code);
}
static void leave_both_ends(void *ignored) {
    (void)ignored;
    slr_crash_point_arm(NULL, 0);
    writer = cells_writer("c");
    reader = cells_reader("c");
    kill(getpid(), SIGKILL);
}
void sweep(void) {
    uint32_t swept;
    CHECK(child_killed(child_start(leave_both_ends, NULL)));
    CHECK_OK(slipring_cells_sweep(bus, "c", &swept));
    CHECK_EQ(swept, 2);
}

const struct role roles[] = {
    {"write", write_some, NOBODY, true},
    {"write for a live reader", write_some, READER, true},
    {"write under takes", write_under_takes, NOBODY, true},
    {"read", read_some, NOBODY, true},
    {"read from a live writer", read_some, WRITER, true},
    {"read under puts", read_under_puts, NOBODY, true},
    {"wake a sleeper", write_for_a_sleeper, NOBODY, true},
    {"sweep", sweep, NOBODY, true},
    {"create", create, NOBODY, false},
    {"remove", remove_cells, NOBODY, true},
};
const size_t role_count = sizeof roles / sizeof roles[0];
