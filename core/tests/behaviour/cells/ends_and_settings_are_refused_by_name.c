/* SPDX-License-Identifier: Apache-2.0
 *
 * A second end, other settings, wrong values, another kind of file of that name, a removed or forked use: a code each,
 * naming what to change; and nobody else is disturbed.
 */
#include <string.h>
#include <unistd.h>

#include "stamped.h"

static int create(uint64_t size, uint32_t depth, const char *format, bool exist_ok) {
    slipring_cells_settings how = {.item_size = size, .depth = depth, .format = format, .format_size = strlen(format)};
    return slipring_cells_create(bus, "c", &how, exist_ok);
}

static void expect_fault(const char *argument, const char *found, const char *asked) {
    const slipring_error *last = slipring_last_error();
    if (strcmp(last->argument, argument) || strcmp(last->found, found) || strcmp(last->asked, asked))
        FAIL("argument %s, found %s, asked %s", last->argument, last->found, last->asked);
}

static void other_settings(void) {
    CHECK_CODE(create(0, 0, "", true), SLIPRING_NOT_FOUND);
    CHECK_OK(create(8, 3, "a", false));
    CHECK_CODE(create(8, 3, "a", false), SLIPRING_EXISTS);
    CHECK_OK(create(8, 3, "a", true));
    CHECK_OK(create(8, 0, "a", true));
    CHECK_OK(create(0, 0, "", true));
    CHECK_OK(create(0, 3, "", true));
    CHECK_CODE(create(8, 4, "a", true), SLIPRING_EXISTS);
    expect_fault("depth", "3", "4");
    CHECK_CODE(create(8, 3, "b", true), SLIPRING_EXISTS);
    expect_fault("dtype", "a", "b");
    CHECK_CODE(create(16, 3, "a", true), SLIPRING_EXISTS);
    CHECK_CODE(create(8, 65537, "a", true), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(create(UINT64_C(1) << 33, 1, "a", true), SLIPRING_BAD_ARGUMENT);
    char long_format[2100] = {0};
    memset(long_format, 'x', sizeof long_format - 1);
    CHECK_CODE(create(8, 3, long_format, true), SLIPRING_BAD_ARGUMENT);
}

static void second_ends(void) {
    slipring_cells_writer *writer = cells_writer("c"), *second;
    slipring_cells_reader *reader = cells_reader("c"), *other;
    CHECK_CODE(slipring_cells_writer_open(bus, "c", &second), SLIPRING_BUSY);
    CHECK_CODE(slipring_cells_reader_open(bus, "c", &other), SLIPRING_BUSY);
    CHECK_CODE(slipring_cells_writer_put(writer, "123456789", 9, NULL), SLIPRING_TOO_LARGE);
    CHECK_CODE(slipring_cells_writer_put(writer, "1234567", 7, NULL), SLIPRING_BAD_ARGUMENT);
    CHECK_OK(slipring_cells_writer_put(writer, "12345678", 8, NULL));
    slipring_cells_info info = cells_info("c");
    CHECK(info.writer_alive && info.reader_alive && info.puts == 1);
    CHECK_EQ(info.writer_pid, getpid());
    slipring_cells_writer_close(writer);
    CHECK(!cells_info("c").writer_alive && cells_info("c").writer_pid == 0);
    slipring_cells_writer_close(cells_writer("c"));
    slipring_cells_reader_close(reader);
}

static void one_name_one_kind(void) {
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.capacity = 4096), true));
    slipring_cells_settings how = {.item_size = 8, .depth = 1};
    CHECK_CODE(slipring_cells_create(bus, "t", &how, true), SLIPRING_EXISTS);
    expect_fault("topic", "topic", "cells");
    CHECK_CODE(slipring_topic_create(bus, "c", SETTINGS(.capacity = 4096), true), SLIPRING_EXISTS);
    expect_fault("topic", "cells", "topic");
    slipring_publisher *pub;
    CHECK_CODE(try_publisher("c", "", NULL, &pub), SLIPRING_EXISTS);
}

static _Atomic bool *refused; /* the child runs, so it has let go of what it shared with us */

static void use_in_child(void *writer) {
    uint32_t cell;
    CHECK_CODE(slipring_cells_writer_begin(writer, &cell), SLIPRING_FORKED);
    CHECK_CODE(slipring_cells_writer_commit(writer, NULL), SLIPRING_FORKED);
    *refused = true;
    pause();
}

/* A forked child is refused, and does not prolong its parent's hold. */
static void forked(void) {
    slipring_cells_writer *writer = cells_writer("c");
    refused = shared_memory(sizeof *refused);
    pid_t child = child_start(use_in_child, writer);
    while (!*refused) pause_us(1000);
    slipring_cells_writer_close(writer);
    slipring_cells_writer_close(cells_writer("c"));
    child_kill(child);
}

static void removed(void) {
    slipring_cells_writer *writer = cells_writer("c");
    slipring_cells_reader *reader = cells_reader("c");
    slipring_element element;
    uint32_t cell;
    CHECK_OK(slipring_cells_remove(bus, "c"));
    CHECK_CODE(slipring_cells_remove(bus, "c"), SLIPRING_NOT_FOUND);
    CHECK_CODE(slipring_cells_writer_begin(writer, &cell), SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_cells_reader_take_newest(reader, &element), SLIPRING_TOPIC_GONE);
    CHECK_CODE(slipring_cells_reader_wait(reader, SLIPRING_FOREVER, 0), SLIPRING_TOPIC_GONE);
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
}

static void run(void) {
    other_settings();
    second_ends();
    one_name_one_kind();
    forked();
    removed();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
