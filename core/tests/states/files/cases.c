/* SPDX-License-Identifier: Apache-2.0
 *
 * Topics, cells and pools of frames that are made, replaced and removed. What may be there afterwards: all or nothing.
 */
#include "cases.h"

#include <dirent.h>
#include <string.h>

#include "frame_topic.h"

static const slipring_settings small = {.slots = 16, .capacity = 4096, .max_writers = 2, .max_readers = 4, .max_cursors = 1};
static slipring_settings small_frames(void) {
    slipring_settings s = small;
    s.writers = SLIPRING_WRITERS_ONE;
    s.content = SLIPRING_FRAMES;
    return s;
}

static slipring_publisher *user;
static slipring_subscriber *listener;
static uint64_t generation;

static void nothing(void) {}

static bool only(const char *const *suffixes) {
    DIR *directory = opendir(bus);
    struct dirent *entry;
    bool right = true;
    while ((entry = readdir(directory))) {
        bool known = entry->d_name[0] == '.';
        for (int i = 0; suffixes[i]; i++) known = known || !strcmp(entry->d_name + 2, suffixes[i]);
        right = right && known;
    }
    closedir(directory);
    return right;
}
static void only_topic_files(void) { CHECK(only((const char *const[]){"ring", "readers", NULL})); }

/* Topics ----------------------------------------------------------------------------------------------------- */

static void create(void) {
    int code = slipring_topic_create(bus, "t", &small, true);
    CHECK_OK(code);
}
static void create_by_opening(void) {
    CHECK_OK(try_publisher("t", "victim", &small, &user));
    send_text(user, "one");
}
static void remove_topic(void) {
    int code = slipring_topic_remove(bus, "t");
    if (code != SLIPRING_NOT_FOUND) CHECK_OK(code);
}
static void repair(void) {
    bool half;
    CHECK_OK(slipring_topic_repair(bus, "t", true, &half));
}

static void begin_topic(void) {
    create();
    user = publisher("t", NULL);
    listener = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    generation = topic_info("t").generation;
}
static void end_topic(void) {
    slipring_publisher_close(user);
    slipring_subscriber_close(listener);
}
/* A creator killed between the two names leaves one of them. */
static void begin_half(void) {
    static const struct operation creator = {"create", NULL, create, NULL, NULL};
    uint32_t count = run_operation(&creator, 3, 0, 0, NULL);
    for (uint32_t step = 1; step < count; step++) {
        remove_topic();
        CHECK_OK(slipring_topic_repair(bus, "t", true, &(bool){false}));
        run_operation(&creator, 3, 0, step, NULL);
        if (file_exists("t", "readers") && !file_exists("t", "ring")) return;
    }
    FAIL("a creator never leaves half a topic");
}

/* If it is there it is whole; if not it can be made. Either way it works, and nothing else is left. */
static void works(void) {
    slipring_publisher *pub;
    slipring_inspector *inspector;
    if (file_exists("t", "ring")) {
        CHECK_OK(slipring_inspector_open(bus, "t", &inspector));
        CHECK_OK(slipring_inspector_verify(inspector));
        slipring_inspector_close(inspector);
    }
    CHECK_OK(try_publisher("t", "successor", &small, &pub));
    only_topic_files();
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (int i = 0; i < 40; i++) {
        send_text(pub, "anew");
        expect_text(sub, "anew");
    }
    verify("t");
    no_dead_entries("t");
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
    CHECK(only((const char *const[]){NULL}));
}

/* Those who used it go on, or know, at the latest when they wait, that it is gone. */
static void gone_or_not(void) {
    if (file_exists("t", "ring") && topic_info("t").generation == generation) {
        send_text(user, "still");
        expect_text(listener, "still");
        return;
    }
    int code;
    do code = slipring_wait(&listener, 1, NULL, 0, SLIPRING_FOREVER, 0);
    while (code == SLIPRING_OK);
    CHECK_CODE(code, SLIPRING_TOPIC_GONE);
    works();
}

/* Cells ------------------------------------------------------------------------------------------------------ */

static void create_cells(void) {
    slipring_cells_settings how = {.item_size = 24, .depth = 2, .format = "x", .format_size = 1};
    CHECK_OK(slipring_cells_create(bus, "t", &how, true));
}
static void remove_cells(void) {
    int code = slipring_cells_remove(bus, "t");
    if (code != SLIPRING_NOT_FOUND) CHECK_OK(code);
}
static void cells_work(void) {
    slipring_cells_writer *writer;
    slipring_cells_reader *reader;
    slipring_cells_info info;
    const slipring_element *elements;
    size_t count;
    if (file_exists("t", "cells")) CHECK_OK(slipring_cells_inspect(bus, "t", &info)); /* whole, and verified */
    create_cells();
    CHECK_OK(slipring_cells_writer_open(bus, "t", &writer));
    CHECK_OK(slipring_cells_reader_open(bus, "t", &reader));
    for (uint64_t i = 0; i < 7; i++) CHECK_OK(slipring_cells_writer_put(writer, "an element of 24 bytes.", 24, NULL));
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
    CHECK_EQ(count, 2);
    slipring_cells_writer_close(writer);
    slipring_cells_reader_close(reader);
    remove_cells();
    CHECK(only((const char *const[]){NULL}));
}

/* Frames ----------------------------------------------------------------------------------------------------- */

static struct writing frame_writer(uint64_t words) {
    struct writing w;
    slipring_settings how = small_frames();
    slipring_stream s = stream_of("main", words, 3);
    CHECK_OK(slipring_publisher_open(bus, "t", "tester", 6, &how, &w.pub));
    CHECK_OK(slipring_frame_writer_open(w.pub, bus, "t", &s, 1, &w.writer));
    return w;
}
static struct reading frame_reader;
static slipring_frame held;

static void begin_frames(void) {
    struct writing w = frame_writer(5);
    frame_reader = reading("t", READING(.start = SLIPRING_START_NEW));
    send_frame(w, 0, 0);
    send_frame(w, 0, 1);
    writing_end(w);
    CHECK(take_frame(frame_reader, &held));
}
static void end_frames(void) { reading_end(frame_reader); }
static void make_pool(void) { send_frame(frame_writer(5), 0, 0); }
static void replace_pool(void) { frame_writer(7); }

/* The frame that is held is as it was, whatever became of its pool; the next writer counts on. */
static void frames_work_with(uint64_t words, bool topic_stays) {
    slipring_frame frame;
    struct writing w = frame_writer(words);
    CHECK(only((const char *const[]){"ring", "readers", "frames", NULL}));
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    uint64_t first = send_frame(w, 0, 100);
    for (uint64_t i = 1; i < 9; i++) CHECK_EQ(send_frame(w, 0, 100 + i), first + i);
    if (topic_stays) CHECK_EQ(first, 2);
    while (take_frame(r, &frame)) {
        CHECK_EQ(read_stamp(&frame), 100 + frame.id - first);
        release_frame(r, &frame);
    }
    verify("t");
    reading_end(r);
    writing_end(w);
    no_dead_entries("t");
}
static void pool_is_made(void) {
    frames_work_with(5, false);
    remove_topic();
    CHECK(only((const char *const[]){NULL}));
}
static void pool_is_replaced(void) {
    CHECK_EQ(read_stamp(&held), 0);
    frames_work_with(7, true);
    CHECK_EQ(read_stamp(&held), 0);
    frames_work_with(5, false);
}
static void frames_are_removed(void) {
    CHECK_EQ(read_stamp(&held), 0);
    if (!file_exists("t", "ring")) pool_is_made();
    CHECK_EQ(read_stamp(&held), 0);
}

#define TWICE(name, act) {name, NULL, act, NULL, NULL}, {name, NULL, act, NULL, NULL}
#define THEN(name, act, other, next) {name, NULL, act, NULL, NULL}, {other, NULL, next, NULL, NULL}
const struct files_case files_cases[] = {
    {TWICE("create", create), nothing, works, nothing},
    {TWICE("create by opening", create_by_opening), nothing, works, nothing},
    {THEN("create, then repair", create, "repair", repair), nothing, works, nothing},
    {TWICE("create beside half a topic", create), begin_half, works, nothing},
    {TWICE("repair", repair), begin_half, works, nothing},
    {TWICE("remove", remove_topic), begin_topic, gone_or_not, end_topic},
    {THEN("remove, then create", remove_topic, "create", create), begin_topic, gone_or_not, end_topic},
    {THEN("remove, then repair", remove_topic, "repair", repair), begin_topic, gone_or_not, end_topic},
    {TWICE("create cells", create_cells), nothing, cells_work, nothing},
    {TWICE("remove cells", remove_cells), create_cells, cells_work, nothing},
    {TWICE("make a pool of frames", make_pool), nothing, pool_is_made, nothing},
    {TWICE("replace a pool of frames", replace_pool), begin_frames, pool_is_replaced, end_frames},
    {TWICE("remove frames", remove_topic), begin_frames, frames_are_removed, end_frames},
};
const size_t files_case_count = sizeof files_cases / sizeof files_cases[0];
