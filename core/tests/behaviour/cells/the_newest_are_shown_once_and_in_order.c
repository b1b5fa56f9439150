/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 21 without a race: what a snapshot and the newest show, what counts as lost and skipped, at every depth.
 */
#include "stamped.h"

static void expect(slipring_cells_reader *reader, uint64_t from, uint64_t to) {
    const slipring_element *elements;
    size_t count;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
    CHECK_EQ(count, to - from);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(elements[i].seq, from + i);
        CHECK_EQ(stamp_of(reader, &elements[i]), from + i);
    }
}

static void three_puts_into_two(void) {
    make_cells("two", 2);
    slipring_cells_writer *writer = cells_writer("two");
    slipring_cells_reader *reader = cells_reader("two");
    for (uint64_t i = 0; i < 3; i++) CHECK_EQ(put_stamped(writer, i), i);
    expect(reader, 1, 3);
    expect(reader, 3, 3);
    CHECK_EQ(cells_counts(reader).lost, 1);
    CHECK_EQ(cells_counts(reader).received, 2);
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
}

/* Bursts of every length up to some laps, so that every place is begun at, twice in a row. */
static void every_burst(uint32_t depth) {
    make_cells("c", depth);
    slipring_cells_writer *writer = cells_writer("c");
    slipring_cells_reader *reader = cells_reader("c");
    uint64_t next = 0, lost = 0;
    for (uint64_t burst = 0; burst < 3 * depth + 3; burst++)
        for (int twice = 0; twice < 2; twice++) {
            for (uint64_t i = 0; i < burst; i++) put_stamped(writer, next++);
            expect(reader, next - (burst < depth ? burst : depth), next);
            lost += burst < depth ? 0 : burst - depth;
            CHECK_EQ(cells_counts(reader).lost, lost);
            CHECK_EQ(cells_counts(reader).received + lost, next);
            slipring_cells_info info = cells_info("c");
            CHECK_EQ(info.puts, next);
            CHECK_EQ(info.lost, lost);
            CHECK_EQ(info.cell_count, 2 * depth + 1);
        }
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
    CHECK_OK(slipring_cells_remove(bus, "c"));
}

static void the_newest(uint32_t depth) {
    make_cells("c", depth);
    slipring_cells_writer *writer = cells_writer("c");
    slipring_cells_reader *reader = cells_reader("c");
    slipring_element element;
    uint64_t next = 0, lost = 0, skipped = 0;
    CHECK_CODE(slipring_cells_reader_take_newest(reader, &element), SLIPRING_EMPTY);
    for (uint64_t burst = 1; burst < 3 * depth + 3; burst++) {
        for (uint64_t i = 0; i < burst; i++) put_stamped(writer, next++);
        CHECK_OK(slipring_cells_reader_take_newest(reader, &element));
        CHECK_EQ(element.seq, next - 1);
        CHECK_EQ(stamp_of(reader, &element), next - 1);
        CHECK_CODE(slipring_cells_reader_take_newest(reader, &element), SLIPRING_EMPTY);
        expect(reader, next, next); /* what was passed over does not come back */
        lost += burst > depth ? burst - depth : 0;
        skipped += (burst > depth ? depth : burst) - 1;
        CHECK_EQ(cells_counts(reader).lost, lost);
        CHECK_EQ(cells_counts(reader).skipped, skipped);
    }
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
    CHECK_OK(slipring_cells_remove(bus, "c"));
}

/* What the reader holds does not change however much is put; neither end's restart is seen in the sequences. */
static void held_and_restarted(uint32_t depth) {
    make_cells("c", depth);
    slipring_cells_writer *writer = cells_writer("c");
    slipring_cells_reader *reader = cells_reader("c");
    uint64_t next = 0;
    for (int round = 0; round < 5; round++) {
        const slipring_element *elements;
        size_t count;
        for (uint32_t i = 0; i < depth; i++) put_stamped(writer, next++);
        CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
        CHECK_EQ(count, depth);
        for (uint32_t i = 0; i < 3 * depth + 1; i++) put_stamped(writer, next++);
        slipring_cells_writer_close(writer);
        writer = cells_writer("c");
        for (uint32_t i = 0; i < 3 * depth + 1; i++, next++) CHECK_EQ(put_stamped(writer, next), next);
        for (size_t i = 0; i < count; i++) CHECK_EQ(stamp_of(reader, &elements[i]), elements[i].seq);
        slipring_cells_reader_close(reader);
        reader = cells_reader("c");
        expect(reader, next - depth, next);
        CHECK_EQ(cells_counts(reader).lost, 5 * depth + 2);
    }
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
    CHECK_OK(slipring_cells_remove(bus, "c"));
}

static void run(void) {
    static const uint32_t depths[] = {1, 2, 3, 4, 7, 8, 31};
    three_puts_into_two();
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        every_burst(depths[i]);
        the_newest(depths[i]);
        held_and_restarted(depths[i]);
    }
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
