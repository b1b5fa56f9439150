/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 22 and invariants 2, 4, 5, 8 for frames: writers and readers killed at every crash point they pass, at several
 * of the times they pass it. A survivor reads on and holds a frame all the while. Afterwards the next writer comes: what
 * was announced, and only that, is counted and whole, the held frame is as it was, and every buffer is there again.
 */
#include <dirent.h>
#include <string.h>

#include "frame_reader.h"
#include "frame_writer.h"
#include "frame_topic.h"
#include "points.h"

static const char *const in_sources[] = {
#include "frames-points.h"
};
static bool reached[sizeof in_sources / sizeof in_sources[0]];

#define BUFFERS 4
#define MAX_POINTS 128

static struct {
    char names[MAX_POINTS][40];
    int hits[MAX_POINTS], count;
    _Atomic uint64_t announced; /* frames of stream "main", by anybody */
} *record;

static slipring_stream main_stream(void) { return stream_of("main", 600, BUFFERS); }

/* The victim ------------------------------------------------------------------------------------------------- */

static struct writing victim;         /* whose words and masks the watcher plays with */
static struct reading victim_reading; /* in the same process */
static bool disturb_writer, disturb_reader, sending_main;

static void note(const char *name) {
    int i = 0;
    while (i < record->count && strcmp(record->names[i], name) != 0) i++;
    CHECK(i < MAX_POINTS && strlen(name) < sizeof record->names[i]);
    if (i == record->count) strcpy(record->names[record->count++], name);
    record->hits[i]++;
    if (strcmp(name, "commit.after_word") == 0 && sending_main) record->announced++;
}

/* A reader's bit between the writer's two looks; a writer's mark between the reader's. */
static void watch(const char *name) {
    note(name);
    if (disturb_writer && strcmp(name, "frame.marked") == 0) {
        disturb_writer = false;
        slr_poke(&victim_reading.reader->sub->self->held, (UINT64_C(1) << BUFFERS) - 1);
    }
    if (disturb_writer || !victim_reading.reader) return;
    if (strcmp(name, "frame.left_alone") == 0) slr_poke(&victim_reading.reader->sub->self->held, 0);
    if (disturb_reader && strcmp(name, "frame_reader.bit_set") == 0) {
        disturb_reader = false;
        for (uint32_t b = 0; b < BUFFERS; b++) slr_poke(&victim.writer->pool->buffer[b].word, SLR_BUFFER_WRITING);
    }
}

static void write_one(struct writing w, bool finish) {
    slipring_frame_buffer buffer;
    uint64_t id, seq, value = w.writer->counts[0];
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
    stamp_frame(buffer.data, buffer.size / 2, value);
    slr_point_reached("test.half_written");
    stamp_frame(buffer.data, buffer.size, value);
    if (!finish) {
        CHECK_OK(slipring_frame_writer_abort(w.writer, buffer.buffer));
        return;
    }
    sending_main = strcmp(w.writer->pool->stream[0].name, "main") == 0;
    CHECK_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &(slipring_frame_note){0}, &id, &seq));
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
static void read_in_vain(void) {
    slipring_frame frame;
    victim = writing("t", NULL, 0);
    victim_reading = reading("t", READING(.start = SLIPRING_START_LAST));
    disturb_reader = true;
    CHECK(!take_frame(victim_reading, &frame));
}

static void remove_it(void) { CHECK_OK(slipring_topic_remove(bus, "t")); }

struct role {
    const char *name;
    void (*act)(void);
    bool topic, live_writer; /* before it comes; while it is there */
};
static const struct role roles[] = {
    {"create and write", create_and_write, false, false}, {"write", write_some, true, false},
    {"write other streams", write_others, true, false},   {"read", read_some, true, true},
    {"read in vain", read_in_vain, true, false},           {"remove", remove_it, true, false},
};

struct order {
    const struct role *role;
    const char *point;
    int hits;
};

static void act(void *argument) {
    const struct order *order = argument;
    slr_point_watch(watch);
    if (order->point) slr_point_arm(order->point, order->hits);
    order->role->act();
}

/* The survivors ---------------------------------------------------------------------------------------------- */

static struct writing live;
static struct reading survivor;
static slipring_frame held;
static uint64_t next_id;

static uint64_t next_of(struct writing w) {
    record->announced++;
    return send_frame(w, 0, w.writer->counts[0]);
}

static void begin(const struct role *role) {
    slipring_stream s = main_stream();
    record->announced = 0;
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
        CHECK(slr_buffer_state_of(slr_peek(&w.writer->pool->buffer[b].word)) != SLR_BUFFER_WRITING);
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

static void begins_anew(void) {
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
    if (judged++ % 2) CHECK_OK(slipring_topic_mend(bus, "t", true, &half));
    record->announced = 0;
    begins_anew();
}

static void judge(const struct role *role) {
    if (!role->topic) {
        if (!file_exists("t", "ring")) record->announced = 0;
        begins_anew();
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
    for (uint32_t b = 0; b < BUFFERS; b++) /* nothing is left as the dead left it */
        CHECK(slr_buffer_state_of(slr_peek(&live.writer->pool->buffer[b].word)) != SLR_BUFFER_WRITING);
    for (int i = 0; i < 3 * BUFFERS; i++) {
        next_of(live);
        if (i % 3 == 0) read_all(survivor, &next_id);
    }
    read_all(survivor, &next_id);
    CHECK_EQ(next_id, record->announced);
    CHECK_EQ(read_stamp(&held), 0);
    slipring_counts c = frame_counts(survivor);
    uint64_t others = strcmp(role->name, "write other streams") == 0 ? c.received + c.lost - record->announced : 0;
    CHECK(others <= 2);
    CHECK_EQ(c.received + c.lost, record->announced + others);
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

static bool run_victim(const struct role *role, const char *point, int hits) {
    struct order order = {role, point, hits};
    begin(role);
    bool killed = child_killed(child_start(act, &order));
    judge(role);
    return killed;
}

static unsigned kill_everywhere(const struct role *role) {
    static char names[MAX_POINTS][40];
    int hits[MAX_POINTS], count;
    unsigned states = 0;
    memset(record, 0, sizeof *record);
    CHECK(!run_victim(role, NULL, 0));
    count = record->count;
    memcpy(names, record->names, sizeof names);
    memcpy(hits, record->hits, sizeof hits);
    for (int p = 0; p < count; p++) {
        for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
            if (strcmp(in_sources[i], names[p]) == 0) reached[i] = true;
        for (int hit = 1; hit <= hits[p]; hit += hit < 3 ? 1 : hits[p] / 3 + 1) {
            fprintf(stderr, "%s, killed at %s (%d of %d)\n", role->name, names[p], hit, hits[p]);
            states += run_victim(role, names[p], hit);
        }
    }
    return states;
}

static void run(void) {
    unsigned states = 0;
    record = shared_memory(sizeof *record);
    for (size_t r = 0; r < sizeof roles / sizeof roles[0]; r++) states += kill_everywhere(&roles[r]);
    printf("%u states of (role, point, hit) with frames survived\n", states);
    for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
        if (!reached[i]) FAIL("no role passes the point %s", in_sources[i]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
