/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a writer or reader of frames can be doing when it is killed.
 */
#include <string.h>

#include "frames/reader.h"
#include "frames/writer.h"
#include "survivors.h"
#include "base/crash_points.h"

struct frames_log *record;

slipring_stream main_stream(void) { return stream_of("main", 600, BUFFERS); }

static struct writing victim;         /* whose words and masks the watcher plays with */
static struct reading victim_reading; /* in the same process */
static bool disturb_writer, disturb_reader;
static _Atomic uint64_t *sending; /* what a commit counts for; NULL: it announces no frame */

static void note(const char *name) {
    int i = 0;
    while (i < record->count && strcmp(record->names[i], name) != 0) i++;
    CHECK(i < MAX_POINTS && strlen(name) < sizeof record->names[i]);
    if (i == record->count) strcpy(record->names[record->count++], name);
    record->hits[i]++;
    if (strcmp(name, "commit.after_word") == 0 && sending) ++*sending;
}

/* Sets bits of the reader between the two checks of the writer, or marks of the writer between those of
 * the reader. */
static void watch(const char *name) {
    note(name);
    if (disturb_writer && strcmp(name, "frame.marked") == 0) {
        disturb_writer = false;
        slr_store_relaxed(&victim_reading.reader->sub->self->held, (UINT64_C(1) << BUFFERS) - 1);
    }
    if (disturb_writer || !victim_reading.reader) return;
    if (strcmp(name, "frame.left_alone") == 0) slr_store_relaxed(&victim_reading.reader->sub->self->held, 0);
    if (disturb_reader && strcmp(name, "frame_reader.bit_set") == 0) {
        disturb_reader = false;
        for (uint32_t b = 0; b < BUFFERS; b++) slr_store_relaxed(&victim.writer->pool->buffer[b].word, SLR_BUFFER_WRITING);
    }
}

static void write_one(struct writing w, bool finish) {
    slipring_frame_buffer buffer;
    uint64_t id, seq, value = w.writer->counts[0];
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
    stamp_frame(buffer.data, buffer.size / 2, value);
    slr_crash_point_reached("test.half_written");
    stamp_frame(buffer.data, buffer.size, value);
    if (!finish) {
        CHECK_OK(slipring_frame_writer_abort(w.writer, buffer.buffer));
        return;
    }
    sending = strcmp(w.writer->pool->stream[0].name, "main") == 0 ? &record->announced : &record->others;
    CHECK_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &(slipring_frame_message){0}, &id, &seq));
    sending = NULL;
}

static void create_and_write(void) {
    slipring_stream s = main_stream();
    struct writing w = writing("t", &s, 1);
    write_one(w, true);
    write_one(w, true);
}

static void write_some(void) {
    slipring_stream s = main_stream();
    victim_reading = reading("t", READING(.start = SLIPRING_START_NEW));
    victim = writing("t", &s, 1);
    for (int i = 0; i < 3; i++) write_one(victim, true);
    write_one(victim, false);
    disturb_writer = true;
    write_one(victim, true);
    for (int i = 0; i < 3; i++) write_one(victim, true);
    slipring_frame_buffer open;
    CHECK_OK(slipring_frame_writer_take(victim.writer, 0, &open));
    writing_end(victim);
}

static void write_others(void) {
    slipring_stream s[2] = {stream_of("more", 10, 2), stream_of("main", 30, 3)};
    struct writing w = writing("t", s, 2);
    write_one(w, true);
    write_one(w, true);
    writing_end(w);
}

static void read_some(void) {
    slipring_frame frame, kept;
    victim_reading = reading("t", READING(.start = SLIPRING_START_OLDEST));
    CHECK(take_frame(victim_reading, &frame));
    CHECK(take_frame(victim_reading, &kept));
    release_frame(victim_reading, &frame);
    CHECK(take_frame(victim_reading, &frame));
}

/* As a writer that marks the buffers at the wrong moment; nothing else of it remains. */
static void read_without_message(void) {
    slipring_frame frame;
    victim = writing("t", NULL, 0);
    victim_reading = reading("t", READING(.start = SLIPRING_START_LAST));
    disturb_reader = true;
    CHECK(!take_frame(victim_reading, &frame));
}

/* Takes up to two of the frames left by a crashed process. Releases only the first. */
static void read_what_there_is(void) {
    slipring_frame frame;
    victim_reading = reading("t", READING(.start = SLIPRING_START_OLDEST));
    if (take_frame(victim_reading, &frame)) release_frame(victim_reading, &frame);
    take_frame(victim_reading, &frame);
}

static void remove_what_there_is(void) {
    int code = slipring_topic_remove(bus, "t");
    if (code != SLIPRING_NOT_FOUND) CHECK_OK(code);
}

static void repair(void) {
    bool half;
    CHECK_OK(slipring_topic_repair(bus, "t", true, &half));
}

static void remove_it(void) { CHECK_OK(slipring_topic_remove(bus, "t")); }

const struct role roles[] = {
    {"create and write", create_and_write, false, false}, {"write", write_some, true, false},
    {"write other streams", write_others, true, false},   {"read", read_some, true, true},
    {"read without a message", read_without_message, true, false}, {"remove", remove_it, true, false},
};

const size_t role_count = sizeof roles / sizeof roles[0];
const struct role next_writers[] = {
    {.name = "read without a message", .act = read_without_message}, /* of the main stream alone */
    {.name = "writes", .act = write_some},
    {.name = "writes other streams", .act = write_others},
    {.name = "creates and writes", .act = create_and_write},
};
const size_t next_writer_count = sizeof next_writers / sizeof next_writers[0];
const struct role next_reader = {.name = "reads", .act = read_what_there_is};
const struct role next_remover = {.name = "removes", .act = remove_what_there_is};
const struct role next_repairer = {.name = "repairs", .act = repair};

struct order {
    const struct role *role;
    const char *point;
    int hits;
};

static void act(void *argument) {
    const struct order *order = argument;
    slr_crash_point_watch(watch);
    if (order->point) slr_crash_point_arm(order->point, order->hits);
    order->role->act();
}

bool victim_run(const struct role *role, const char *point, int hits) {
    struct order order = {role, point, hits};
    return child_killed(child_start(act, &order));
}
