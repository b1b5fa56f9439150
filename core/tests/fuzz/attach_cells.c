/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: cells of arbitrary contents. A writer and a reader open and use them while their words change.
 * They are inspected before and after that, and then removed.
 *
 * Input: depth, the number of changes before the ends are opened, then the changes; the rest come between the
 * calls.
 */
#include <string.h>

#include "image.h"

#define CELLS "c"
#define ITEM 24
#define DEPTHS 3

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct image images[DEPTHS];
static volatile unsigned char sum;

void fuzz_before_access(void) {}

static void make_image(uint32_t depth, struct image *image) {
    static const char *const names[] = {CELLS ".cells"};
    slipring_cells_settings settings = {.item_size = ITEM, .depth = depth, .format = "format", .format_size = 6};
    slipring_cells_writer *writer;
    slipring_cells_reader *reader;
    slipring_element newest;
    char value[ITEM] = "value";
    uint32_t cell;
    CHECK(slipring_cells_create(bus, CELLS, &settings, false) == SLIPRING_OK);
    CHECK(slipring_cells_writer_open(bus, CELLS, &writer) == SLIPRING_OK);
    CHECK(slipring_cells_reader_open(bus, CELLS, &reader) == SLIPRING_OK);
    for (int i = 0; i < 7; i++) CHECK(slipring_cells_writer_put(writer, value, ITEM, NULL) == SLIPRING_OK);
    CHECK(slipring_cells_reader_take_newest(reader, &newest) == SLIPRING_OK);
    CHECK(slipring_cells_writer_put(writer, value, ITEM, NULL) == SLIPRING_OK);
    CHECK(slipring_cells_writer_begin(writer, &cell) == SLIPRING_OK);
    image_take(image, 1, names, (size_t[]){4096 + depth * 64});
    slipring_cells_writer_close(writer);
    slipring_cells_reader_close(reader);
    CHECK(slipring_cells_remove(bus, CELLS) == SLIPRING_OK);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    fuzz_start();
    for (uint32_t i = 0; i < DEPTHS; i++) make_image(i + 1, &images[i]);
    return 0;
}

static void read_cell(const slipring_cells_shape *shape, uint32_t cell) {
    CHECK(cell < shape->cell_count);
    for (size_t i = 0; i < shape->item_size; i++) sum ^= ((volatile uint8_t *)shape->cells)[cell * shape->stride + i];
}

static void use_writer(slipring_cells_writer *writer) {
    static char value[ITEM];
    slipring_cells_shape shape;
    uint32_t cell;
    slipring_cells_writer_shape(writer, &shape);
    answered(slipring_cells_writer_put(writer, value, shape.item_size < ITEM ? shape.item_size : ITEM, NULL));
    if (answered(slipring_cells_writer_begin(writer, &cell))) return;
    CHECK(cell < shape.cell_count);
    memset((uint8_t *)shape.cells + cell * shape.stride, 1, shape.item_size);
    answered(slipring_cells_writer_commit(writer, NULL));
}

static void use_reader(slipring_cells_reader *reader) {
    const slipring_element *elements;
    slipring_cells_shape shape;
    slipring_cells_counts counts;
    slipring_element newest;
    size_t count;
    slipring_cells_reader_shape(reader, &shape);
    if (answered(slipring_cells_reader_take_newest(reader, &newest)) == SLIPRING_OK) read_cell(&shape, newest.cell);
    if (answered(slipring_cells_reader_take(reader, &elements, &count)) == SLIPRING_OK) {
        CHECK(count <= shape.depth);
        for (size_t i = 0; i < count; i++) read_cell(&shape, elements[i].cell);
    }
    answered(slipring_cells_reader_wait(reader, slipring_deadline(0.000001), 0));
    slipring_cells_reader_counts(reader, &counts);
}

static void look(void) {
    slipring_cells_info info;
    uint32_t swept;
    if (answered(slipring_cells_inspect(bus, CELLS, &info)) == SLIPRING_OK) CHECK(strlen(info.format) <= SLIPRING_MAX_FORMAT);
    answered(slipring_cells_sweep(bus, CELLS, &swept));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    const struct image *image = &images[take(&in, 1) % DEPTHS];
    slipring_cells_settings any = {0};
    slipring_cells_writer *writer = NULL;
    slipring_cells_reader *reader = NULL;
    image_restore(image);
    for (uint64_t i = take(&in, 1) % 8; i > 0 && more(&in); i--) change(&in, image, true);
    look();
    answered(slipring_cells_create(bus, CELLS, &any, true));
    if (answered(slipring_cells_writer_open(bus, CELLS, &writer))) writer = NULL;
    if (answered(slipring_cells_reader_open(bus, CELLS, &reader))) reader = NULL;
    for (int round = 0; round < 8; round++) {
        if (writer) use_writer(writer);
        if (reader && round % 2) use_reader(reader);
        if (more(&in)) change(&in, image, false);
    }
    look();
    if (writer) slipring_cells_writer_close(writer);
    if (reader) slipring_cells_reader_close(reader);
    CHECK(answered(slipring_cells_remove(bus, CELLS)) == SLIPRING_OK);
    nothing_left();
    return 0;
}
