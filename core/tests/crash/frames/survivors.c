/* SPDX-License-Identifier: Apache-2.0 */
#include "survivors.h"

#include <dirent.h>
#include <string.h>

#include "frames/reader.h"
#include "frames/writer.h"

static struct writing live;
static struct reading survivor;
static slipring_frame held;
static uint64_t next_id;

static uint64_t next_of(struct writing w) {
    record->announced++;
    return send_frame(w, 0, w.writer->counts[0]);
}

void survivors_begin(const struct role *role) {
    slipring_stream s = main_stream();
    record->announced = record->others = 0;
    next_id = 0;
    if (!role->topic) return;
    live = writing("t", &s, 1);
    survivor = reading("t", READING(.start = SLIPRING_START_NEW));
    for (uint64_t i = 0; i < 3; i++) next_of(live);
    CHECK(take_frame(survivor, &held));
    next_of(live);
    if (!role->live_writer) writing_end(live);
}

static void read_all(struct reading r, uint64_t *next) {
    slipring_frame frame;
    while (take_frame(r, &frame)) {
        CHECK_EQ(read_stamp(&frame), frame.id);
        if (strcmp(frame.stream->name, "main") == 0) {
            CHECK(frame.id >= *next && frame.id < record->announced);
            *next = frame.id + 1;
        }
        release_frame(r, &frame);
    }
}

static void all_buffers_are_there(struct writing w) {
    slipring_frame_buffer buffer;
    for (uint32_t b = 0; b < BUFFERS; b++)
        CHECK(slr_buffer_state_of(slr_load_relaxed(&w.writer->pool->buffer[b].word)) != SLR_BUFFER_WRITING);
    for (int i = 0; i < BUFFERS; i++) CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_FULL);
    for (uint32_t i = 0; i < BUFFERS; i++) CHECK_OK(slipring_frame_writer_abort(w.writer, i));
}

static void only_the_topic_is_left(void) {
    DIR *directory = opendir(bus);
    struct dirent *entry;
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "t.ring") != 0 && strcmp(entry->d_name, "t.readers") != 0 &&
            strcmp(entry->d_name, "t.frames") != 0)
            FAIL("%s was left in the bus", entry->d_name);
    closedir(directory);
}

static void begin_again(void) {
    slipring_stream s = main_stream();
    struct writing w = writing("t", &s, 1);
    CHECK_EQ(w.writer->counts[0], record->announced);
    all_buffers_are_there(w);
    only_the_topic_is_left();
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
    CHECK(!file_exists("t", "frames") && !file_exists("t", "readers"));
}

static void the_topic_is_gone(void) {
    bool half;
    slipring_frame frame;
    CHECK_EQ(read_stamp(&held), 0);
    int code = slipring_frame_reader_take(survivor.reader, &frame);
    while (code == SLIPRING_OK) code = slipring_frame_reader_take(survivor.reader, &frame);
    CHECK(code == SLIPRING_TOPIC_GONE || code == SLIPRING_EMPTY); /* killed before it was marked: found by waiting */
    reading_end(survivor);
    static unsigned judged;
    if (judged++ % 2) CHECK_OK(slipring_topic_repair(bus, "t", true, &half));
    record->announced = 0;
    begin_again();
}

void survivors_judge(const struct role *role) {
    if (!role->topic) {
        if (!file_exists("t", "ring")) record->announced = 0;
        begin_again();
        return;
    }
    if (!file_exists("t", "ring")) {
        the_topic_is_gone();
        return;
    }
    slipring_stream s = main_stream();
    CHECK_EQ(read_stamp(&held), 0);
    if (!role->live_writer) live = writing("t", &s, 1);
    CHECK_EQ(live.writer->counts[0], record->announced);
    for (uint32_t b = 0; b < BUFFERS; b++) /* no buffer is still marked as being written */
        CHECK(slr_buffer_state_of(slr_load_relaxed(&live.writer->pool->buffer[b].word)) != SLR_BUFFER_WRITING);
    for (int i = 0; i < 3 * BUFFERS; i++) {
        next_of(live);
        if (i % 3 == 0) read_all(survivor, &next_id);
    }
    read_all(survivor, &next_id);
    CHECK_EQ(next_id, record->announced);
    CHECK_EQ(read_stamp(&held), 0);
    slipring_counts c = frame_counts(survivor);
    /* Streams that are no more are not counted, unless they were read while they were. */
    CHECK(c.received + c.lost >= record->announced && c.received + c.lost <= record->announced + record->others);
    release_frame(survivor, &held);
    all_buffers_are_there(live);
    writing_end(live);
    verify("t");
    live = writing("t", NULL, 0); /* an attach leaves nothing of the dead in the tables */
    no_dead_entries("t");
    only_the_topic_is_left();
    reading_end(survivor);
    writing_end(live);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}
