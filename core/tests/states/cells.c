/* SPDX-License-Identifier: Apache-2.0
 *
 * The crash states of cells. The element with sequence s is stamped s. One end may live on; the victim and
 * the recoverer die. Afterwards every finished put counts, whichever process recovers. No element is given
 * out twice. The counts add up.
 */
#include <string.h>

#include "stamped.h"
#include "states.h"

enum { NOBODY, READER, WRITER };             /* who lives on: a setup's `before` */
enum { LEAST_PUTS, MOST_PUTS, FIRST_SAW, SECOND_SAW, GIVEN, LEAST_RECEIVED, MOST_RECEIVED }; /* in the journal */
#define NOTED(what) (journal->value[what])

static slipring_cells_writer *writer;
static slipring_cells_reader *reader;
static slipring_element held[8]; /* by the reader that lives on */
static size_t held_count;
static uint32_t depth;

/* Acts ------------------------------------------------------------------------------------------------------- */

static void put(void) {
    slipring_cells_shape shape;
    uint32_t cell;
    uint64_t seq, value[STAMP_WORDS], number = NOTED(LEAST_PUTS);
    slipring_cells_writer_shape(writer, &shape);
    CHECK_OK(slipring_cells_writer_begin(writer, &cell));
    volatile uint64_t *words = (uint64_t *)((uint8_t *)shape.cells + cell * shape.stride);
    fill_stamp(value, number);
    for (size_t i = 0; i < STAMP_WORDS; i++) {
        step_before();
        words[i] = value[i];
        step_after();
    }
    NOTED(MOST_PUTS) = number + 1;
    CHECK_OK(slipring_cells_writer_commit(writer, &seq));
    CHECK_EQ(seq, number);
    NOTED(LEAST_PUTS) = number + 1;
}

static void given(const slipring_element *elements, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CHECK(elements[i].seq >= NOTED(GIVEN) && elements[i].seq < NOTED(MOST_PUTS));
        CHECK_EQ(stamp_of(reader, &elements[i]), elements[i].seq);
        NOTED(GIVEN) = elements[i].seq + 1;
    }
    NOTED(LEAST_RECEIVED) += count;
    NOTED(MOST_RECEIVED) = NOTED(LEAST_RECEIVED);
}

static void take(void) {
    const slipring_element *elements;
    size_t count;
    NOTED(MOST_RECEIVED) = NOTED(LEAST_RECEIVED) + depth;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
    given(elements, count);
}

static void take_newest(void) {
    slipring_element element;
    NOTED(MOST_RECEIVED) = NOTED(LEAST_RECEIVED) + 1;
    int code = slipring_cells_reader_take_newest(reader, &element);
    if (code != SLIPRING_EMPTY) CHECK_OK(code);
    given(&element, code == SLIPRING_OK);
}

/* Narrows the journal to the counts in the file. The last put of a crashed writer is counted now or never.
 * The elements of the last take of a crashed reader stay its own. */
static void look_around(void) {
    slipring_cells_info info = cells_info("t");
    CHECK(info.puts >= NOTED(LEAST_PUTS) && info.puts <= NOTED(MOST_PUTS));
    CHECK(info.received >= NOTED(LEAST_RECEIVED) && info.received <= NOTED(MOST_RECEIVED));
    if (source) NOTED(source == 1 ? FIRST_SAW : SECOND_SAW) = info.puts + 1;
    NOTED(LEAST_PUTS) = NOTED(MOST_PUTS) = info.puts;
    NOTED(LEAST_RECEIVED) = NOTED(MOST_RECEIVED) = info.received;
}

static void open_writer(void) {
    look_around();
    writer = cells_writer("t");
}
static void open_reader(void) {
    look_around();
    reader = cells_reader("t");
}
static void open_both(void) {
    open_writer();
    reader = cells_reader("t");
}
static void put_twice(void) {
    put();
    put();
}
static void lap(void) {
    for (uint32_t i = 0; i <= depth; i++) put();
}
static void close_writer(void) { slipring_cells_writer_close(writer); }
static void close_reader(void) { slipring_cells_reader_close(reader); }
static void read_all(void) {
    take();
    take_newest();
}
static void sleep_a_little(void) {
    take();
    slipring_cells_reader_wait(reader, slipring_deadline(0.00001), 0);
}
static void sweep(void) {
    uint32_t swept;
    look_around();
    CHECK_OK(slipring_cells_sweep(bus, "t", &swept));
}
static void come_and_put(void) {
    open_writer();
    put_twice();
    close_writer();
}
static void come_and_take(void) {
    open_reader();
    read_all();
    close_reader();
}

static bool writer_free(const struct setup *setup) { return setup->before != WRITER; }
static bool reader_free(const struct setup *setup) { return setup->before != READER; }
static bool both_free(const struct setup *setup) { return setup->before == NOBODY; }

static const struct operation operations[] = {
    {"open a writer", NULL, open_writer, writer_free, NULL},
    {"put", open_writer, put_twice, writer_free, NULL},
    {"put under takes", open_both, put, both_free, take},
    {"close a writer", open_writer, close_writer, writer_free, NULL},
    {"open a reader", NULL, open_reader, reader_free, NULL},
    {"take", open_reader, take, reader_free, NULL},
    {"take the newest", open_reader, take_newest, reader_free, NULL},
    {"take under puts", open_both, take, both_free, lap},
    {"take the newest under puts", open_both, take_newest, both_free, lap},
    {"sleep", open_reader, sleep_a_little, reader_free, NULL},
    {"close a reader", open_reader, close_reader, reader_free, NULL},
    {"sweep", NULL, sweep, NULL, NULL},
};
static const struct operation recoverers[] = {
    {"sweep", NULL, sweep, NULL, NULL},
    {"come and put", NULL, come_and_put, writer_free, NULL},
    {"come and take", NULL, come_and_take, reader_free, NULL},
};

/* Survivors -------------------------------------------------------------------------------------------------- */

static void begin(const struct setup *setup) {
    depth = (uint32_t)setup->detail;
    source = 0;
    held_count = 0;
    make_cells("t", depth);
    writer = cells_writer("t");
    reader = cells_reader("t");
    const slipring_element *elements;
    for (uint32_t i = 0; i < 3 * depth; i++) put();
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &held_count));
    memcpy(held, elements, held_count * sizeof *held);
    given(elements, held_count);
    put(); /* not taken */
    if (setup->before != WRITER) close_writer();
    if (setup->before == READER) slipring_cells_reader_wait(reader, slipring_deadline(0.00001), 0);
    if (setup->before != READER) close_reader();
    if (setup->before != READER) held_count = 0;
}

static void held_are_unchanged(void) {
    for (size_t i = 0; i < held_count; i++) CHECK_EQ(stamp_of(reader, &held[i]), held[i].seq);
}

static void accounts_are_exact(void) {
    slipring_cells_info info = cells_info("t"); /* verifies, too */
    CHECK_EQ(info.puts, NOTED(LEAST_PUTS));
    CHECK_EQ(info.position, info.puts);
    CHECK_EQ(info.received, NOTED(LEAST_RECEIVED));
    CHECK_EQ(info.received + info.lost + info.skipped, info.position);
}

static uint64_t a_bit_each(uint64_t puts) { return (UINT64_C(1) << puts) - 1; }

static void judge(const struct setup *setup, enum mode mode, bool brief) {
    uint32_t swept;
    (void)brief;
    held_are_unchanged();
    look_around();
    uint64_t now = NOTED(LEAST_PUTS) + 1, first = NOTED(FIRST_SAW), second = NOTED(SECOND_SAW);
    verdict->there[1] = first ? a_bit_each((second ? second : now) - first) : 0;
    verdict->there[2] = second ? a_bit_each(now - second) : 0;
    if (mode == BY_SWEEP) CHECK_OK(slipring_cells_sweep(bus, "t", &swept));
    if (setup->before != READER && mode == BY_ATTACH) reader = cells_reader("t"); /* before the writer */
    if (setup->before != WRITER) writer = cells_writer("t");
    if (setup->before != READER && mode != BY_ATTACH) reader = cells_reader("t");
    for (uint32_t i = 0; i <= 3 * depth; i++) put();
    held_are_unchanged();
    take();
    accounts_are_exact();
    put();
    take_newest();
    accounts_are_exact();
    close_writer();
    close_reader();
    slipring_cells_info info = cells_info("t");
    CHECK(info.writer_pid == 0 && info.reader_pid == 0);
}

static void end(const struct setup *setup) {
    if (setup->before == WRITER) close_writer();
    if (setup->before == READER) close_reader();
    CHECK_OK(slipring_cells_remove(bus, "t"));
}

#define OF_DEPTH(n) \
    {"depth " #n ", nobody lives on", 0, 0, NOBODY, n}, {"depth " #n ", a reader lives on", 0, 0, READER, n}, \
    {"depth " #n ", a writer lives on", 0, 0, WRITER, n}
static const struct setup setups[] = {OF_DEPTH(1), OF_DEPTH(2), OF_DEPTH(3)};
static const char *const suffixes[] = {"cells", NULL};

static const struct subject subject = {
    .name = "cells", .suffixes = suffixes, .setups = setups, .setup_count = sizeof setups / sizeof setups[0],
    .operations = operations, .operation_count = sizeof operations / sizeof operations[0],
    .recoverers = recoverers, .recoverer_count = sizeof recoverers / sizeof recoverers[0],
    .begin = begin, .judge = judge, .end = end,
};
const struct subject *subject_of_this_program(void) { return &subject; }
