/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells: a writer (thread 0) puts elements, a reader (thread 1) takes them. An element belongs to the reader
 * until its next take from the same slot. Before each take the reader checks its elements again.
 */
#include "schedules.h"
#include "shim.h"
#include "slipring.h"

#define NAME "c"
#define WORDS 2

static struct {
    slipring_cells_writer *writer;
    slipring_cells_reader *reader;
    uint32_t depth;
    int puts, takes;
    bool waits, newest;
    uint64_t put; /* how many */
    uint64_t next; /* lowest sequence that may come */
    bool owns[8];
    uint64_t shown[8]; /* by slot: what was taken from it last */
    uint32_t cell_of[8];
} w;

static uint64_t word_of(uint64_t number, int place) { return (number + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)place; }

static void setup(uint32_t depth, int puts, int takes, bool waits, bool newest) {
    slipring_cells_settings how = {.item_size = WORDS * 8, .depth = depth, .format = "stamp", .format_size = 5};
    w.depth = depth;
    w.puts = puts;
    w.takes = takes;
    w.waits = waits;
    w.newest = newest;
    MUST_OK(slipring_cells_create(schedules_bus, NAME, &how, true));
    schedules_owner(0);
    MUST_OK(slipring_cells_writer_open(schedules_bus, NAME, &w.writer));
    schedules_owner(1);
    MUST_OK(slipring_cells_reader_open(schedules_bus, NAME, &w.reader));
}

static uint64_t put(uint64_t number) {
    slipring_cells_shape shape;
    uint32_t cell;
    uint64_t seq;
    slipring_cells_writer_shape(w.writer, &shape);
    MUST_OK(slipring_cells_writer_begin(w.writer, &cell));
    _Atomic uint64_t *words = (_Atomic uint64_t *)((uint8_t *)shape.cells + cell * shape.stride);
    for (int i = 0; i < WORDS; i++) slr_store_relaxed(&words[i], word_of(number, i));
    MUST_OK(slipring_cells_writer_commit(w.writer, &seq));
    MUST(seq == number, "element %d is put as %d", (int)number, (int)seq);
    return seq;
}

static void write_all(void) {
    while (w.put < (uint64_t)w.puts) w.put = put(w.put) + 1;
}

static void check_cell(uint32_t cell, uint64_t seq, const char *how) {
    slipring_cells_shape shape;
    slipring_cells_reader_shape(w.reader, &shape);
    const _Atomic uint64_t *words = (const _Atomic uint64_t *)((const uint8_t *)shape.cells + cell * shape.stride);
    for (int i = 0; i < WORDS; i++)
        MUST(slr_load_relaxed(&words[i]) == word_of(seq, i), "element %d is %s at word %d", (int)seq, how, i);
}

static void accept(const slipring_element *e) {
    MUST(e->seq >= w.next, "element %d comes after %d", (int)e->seq, (int)w.next - 1);
    MUST(!schedules_overslept(), "a wake-up was lost: element %d was there all the time", (int)e->seq);
    w.next = e->seq + 1;
    check_cell(e->cell, e->seq, "torn");
    uint64_t slot = e->seq % w.depth;
    w.owns[slot] = true;
    w.shown[slot] = e->seq;
    w.cell_of[slot] = e->cell;
    schedules_outcome(e->seq);
}

static bool take(void) {
    const slipring_element *elements;
    slipring_element newest;
    size_t count = 0;
    for (uint32_t i = 0; i < w.depth; i++)
        if (w.owns[i]) check_cell(w.cell_of[i], w.shown[i], "changed while it was the reader's");
    if (w.newest) {
        int code = slipring_cells_reader_take_newest(w.reader, &newest);
        MUST(code == SLIPRING_OK || code == SLIPRING_EMPTY, "take_newest gives %d: %s", code, slipring_last_error()->message);
        if (code == SLIPRING_OK) accept(&newest);
        return code == SLIPRING_OK;
    }
    MUST_OK(slipring_cells_reader_take(w.reader, &elements, &count));
    for (size_t i = 0; i < count; i++) accept(&elements[i]);
    return count > 0;
}

static void read_all(void) {
    for (int i = 0; !w.waits && i < w.takes; i++) take();
    for (int sleeps = 0; w.waits && w.next < (uint64_t)w.puts;) {
        if (take()) continue;
        if (schedules_any_crash() && ++sleeps > 4) return;
        int code = slipring_cells_reader_wait(w.reader, SLIPRING_FOREVER, 0);
        MUST(code == SLIPRING_OK, "wait gives %d: %s", code, slipring_last_error()->message);
    }
}

static void account(void) {
    slipring_cells_counts counts;
    slipring_cells_reader_counts(w.reader, &counts);
    MUST(counts.received + counts.skipped + counts.lost == counts.position, "received %d + skipped %d + lost %d of %d",
         (int)counts.received, (int)counts.skipped, (int)counts.lost, (int)counts.position);
    MUST(schedules_any_crash() || counts.position == w.put, "%d elements are known of %d", (int)counts.position, (int)w.put);
    schedules_outcome(counts.lost);
}

/* Elements are put and arrive, one by one, more than all cells. */
static void go_on(void) {
    slipring_cells_info info;
    MUST_OK(slipring_cells_inspect(schedules_bus, NAME, &info));
    for (uint64_t i = 0; i < 2 * w.depth + 2; i++) {
        put(info.puts + i);
        MUST(take(), "element %d does not arrive after a death", (int)(info.puts + i));
    }
}

static void judge(void) {
    if (schedules_crashed(0)) MUST_OK(slipring_cells_writer_open(schedules_bus, NAME, &w.writer));
    if (schedules_crashed(1)) {
        for (int i = 0; i < 8; i++) w.owns[i] = false; /* nobody's any more */
        MUST_OK(slipring_cells_reader_open(schedules_bus, NAME, &w.reader));
    }
    while (take()) continue;
    if (!schedules_crashed(1)) account();
    if (schedules_any_crash()) go_on();
}

static void setup_one(void) { setup(1, 3, 3, false, false); }
static void setup_two(void) { setup(2, 4, 3, false, false); }
static void setup_newest(void) { setup(2, 4, 3, false, true); }
static void setup_waits(void) { setup(2, 2, 0, true, false); }

#define CELLS(title, make)                                                                                \
    extern const struct scenario scenario_##title; \
    const struct scenario scenario_##title = {.name = #title, .setup = make, .judge = judge, .threads = 2, \
        .role = {write_all, read_all}, .may_crash = true, .all = {{3, 0, 0}, {3, 1, 0}, {2, 0, 1}}}
CELLS(cells_of_one, setup_one);
CELLS(cells_of_two, setup_two);
CELLS(cells_newest, setup_newest);
CELLS(cells_sleep_and_wake, setup_waits);
