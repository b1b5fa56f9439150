/* SPDX-License-Identifier: Apache-2.0 */
#include "stamped.h"

static uint64_t word_of(uint64_t number, size_t place) { return (number + 1) * UINT64_C(0x9e3779b97f4a7c15) + place; }

void make_cells(const char *name, uint32_t depth) {
    slipring_cells_settings how = {.item_size = STAMP_WORDS * 8, .depth = depth, .format = "stamp", .format_size = 5};
    CHECK_OK(slipring_cells_create(bus, name, &how, true));
}

slipring_cells_writer *cells_writer(const char *name) {
    slipring_cells_writer *writer;
    CHECK_OK(slipring_cells_writer_open(bus, name, &writer));
    return writer;
}

slipring_cells_reader *cells_reader(const char *name) {
    slipring_cells_reader *reader;
    CHECK_OK(slipring_cells_reader_open(bus, name, &reader));
    return reader;
}

void fill_stamp(void *element, uint64_t number) {
    uint64_t *words = element;
    words[0] = number;
    for (size_t i = 1; i < STAMP_WORDS; i++) words[i] = word_of(number, i);
}

uint64_t read_stamp(const void *element) {
    const uint64_t *words = element;
    for (size_t i = 1; i < STAMP_WORDS; i++)
        if (words[i] != word_of(words[0], i)) FAIL("element %llu is torn at word %zu", (unsigned long long)words[0], i);
    return words[0];
}

uint64_t put_stamped(slipring_cells_writer *writer, uint64_t number) {
    slipring_cells_shape shape;
    uint32_t cell;
    uint64_t seq;
    slipring_cells_writer_shape(writer, &shape);
    CHECK_OK(slipring_cells_writer_begin(writer, &cell));
    fill_stamp((uint8_t *)shape.cells + cell * shape.stride, number);
    CHECK_OK(slipring_cells_writer_commit(writer, &seq));
    return seq;
}

uint64_t stamp_of(const slipring_cells_reader *reader, const slipring_element *element) {
    slipring_cells_shape shape;
    slipring_cells_reader_shape(reader, &shape);
    return read_stamp((const uint8_t *)shape.cells + element->cell * shape.stride);
}

slipring_cells_counts cells_counts(const slipring_cells_reader *reader) {
    slipring_cells_counts counts;
    slipring_cells_reader_counts(reader, &counts);
    return counts;
}

slipring_cells_info cells_info(const char *name) {
    slipring_cells_info info;
    CHECK_OK(slipring_cells_inspect(bus, name, &info));
    return info;
}
