/* SPDX-License-Identifier: Apache-2.0 */
#include "survivors.h"

#include <string.h>

#include "base/crash_points.h"

void survivors_open(void) {
    record = shared_memory(sizeof *record);
    slr_crash_point_watch(note);
}

bool ends_in_return(size_t point) { return strcmp(points[point], "cells.take.accounted") == 0; }

struct order {
    void (*act)(void);
    const char *point;
    int hits;
};

static void act(void *argument) {
    const struct order *order = argument;
    writer = NULL;
    reader = NULL;
    slr_crash_point_watch(note);
    if (order->point) slr_crash_point_arm(order->point, order->hits);
    order->act();
}

bool killed(void (*what)(void), const char *point, int hits) {
    struct order order = {what, point, hits};
    return child_killed(child_start(act, &order));
}

static slipring_element held[8]; /* by the reader that lives on */
static size_t held_count;

static void hold(void) {
    const slipring_element *elements;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &held_count));
    memcpy(held, elements, held_count * sizeof *held);
    record->delivered = record->committed;
    record->returned += held_count;
}

static void held_are_unchanged(void) {
    for (size_t i = 0; i < held_count; i++) CHECK_EQ(stamp_of(reader, &held[i]), held[i].seq);
}

/* Laps behind it; the newest element is not taken, the others are. */
void survivors_begin(const struct role *role) {
    memset(record, 0, sizeof *record);
    held_count = 0;
    if (!role->exists) return;
    create();
    writer = cells_writer("c");
    reader = cells_reader("c");
    for (uint32_t i = 0; i < 3 * depth; i++) put_next();
    hold();
    put_next();
    if (role->survivor != WRITER) slipring_cells_writer_close(writer);
    if (role->survivor != READER) {
        slipring_cells_reader_close(reader);
        held_count = 0;
    }
}

static void attach(enum survivor survivor) {
    if (!file_exists("c", "cells")) {
        record->committed = record->delivered = record->returned = 0;
        create();
    }
    cells_info("c"); /* verifies */
    if (survivor != READER) reader = cells_reader("c");
    if (survivor != WRITER) writer = cells_writer("c");
}

bool returning;

void survivors_judge(const struct role *role) {
    attach(role->survivor);
    if (role->survivor == READER) held_are_unchanged();
    for (uint32_t i = 0; i < 3 * depth + 1; i++) put_next();
    if (role->survivor == READER) held_are_unchanged();
    take_all();
    CHECK_EQ(record->delivered, record->committed);
    slipring_cells_info info = cells_info("c");
    CHECK_EQ(info.position, record->committed);
    CHECK_EQ(info.puts, record->committed);
    CHECK(info.received >= record->returned && info.received - record->returned <= (returning ? 2 * depth : 0));
    CHECK_EQ(info.received + info.lost + info.skipped, info.position);
    put_next();
    take_newest();
    CHECK_EQ(record->delivered, record->committed);
    slipring_cells_writer_close(writer);
    slipring_cells_reader_close(reader);
    info = cells_info("c");
    CHECK(info.writer_pid == 0 && info.reader_pid == 0 && !info.writer_alive && !info.reader_alive);
    CHECK_OK(slipring_cells_remove(bus, "c"));
}

void survivors_count_hits(const struct role *role, int hits[MAX_POINTS]) {
    survivors_begin(role);
    memset(record->hits, 0, sizeof record->hits);
    CHECK(!killed(role->act, NULL, 0));
    memcpy(hits, record->hits, sizeof record->hits);
    survivors_judge(role);
}
