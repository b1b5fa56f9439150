/* SPDX-License-Identifier: Apache-2.0
 *
 * Ping-pong over two pairs of cells with sleeps that have no time limit: a lost wake-up is a test that does not end.
 */
#include "stamped.h"
#include "endless_sleeps.h"

static uint64_t rounds;

static uint64_t await(slipring_cells_reader *reader) {
    slipring_element element;
    int code;
    while ((code = slipring_cells_reader_take_newest(reader, &element)) == SLIPRING_EMPTY)
        CHECK_OK(slipring_cells_reader_wait(reader, SLIPRING_FOREVER, 0));
    CHECK_OK(code);
    return stamp_of(reader, &element);
}

static void answer(void *ignored) {
    (void)ignored;
    endless_sleeps = true;
    slipring_cells_reader *reader = cells_reader("ping");
    slipring_cells_writer *writer = cells_writer("pong");
    for (uint64_t i = 0; i < rounds; i++) {
        CHECK_EQ(await(reader), i);
        put_stamped(writer, i);
    }
}

static void run(void) {
    rounds = scaled(20000);
    make_cells("ping", 1);
    make_cells("pong", 2);
    pid_t child = child_start(answer, NULL);
    endless_sleeps = true;
    slipring_cells_writer *writer = cells_writer("ping");
    slipring_cells_reader *reader = cells_reader("pong");
    for (uint64_t i = 0; i < rounds; i++) {
        put_stamped(writer, i);
        CHECK_EQ(await(reader), i);
    }
    child_join(child);
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
