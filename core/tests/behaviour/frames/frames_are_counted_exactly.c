/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariant 2 for frames: received + lost + filtered = frames sent since the reader's start, for each stream, at any pace,
 * whether it was the buffer or the announcement that was overwritten.
 */
#include <string.h>

#include "frame_topic.h"

static uint64_t drain(struct reading r) {
    slipring_frame frame;
    uint64_t got = 0, next[256] = {0}; /* by the first letter of the stream */
    while (take_frame(r, &frame)) {
        uint64_t *least = &next[(unsigned char)frame.stream->name[0]];
        CHECK(frame.id >= *least);
        CHECK_EQ(read_stamp(&frame), frame.id);
        *least = frame.id + 1;
        got++;
        release_frame(r, &frame);
    }
    return got;
}

static void every_pace(void) {
    slipring_stream s = stream_of("main", 64, 4);
    struct writing w = writing("t", &s, 1);
    for (uint64_t burst = 1; burst <= 10000; burst = burst * 3 + 1) {
        struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
        uint64_t sent = 0, got = 0;
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = 0; i < burst; i++, sent++) {
                slipring_frame_buffer buffer;
                uint64_t id, seq;
                CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
                uint64_t next = send_frame(w, 0, 0);
                stamp_frame(buffer.data, buffer.size, next + 1);
                CHECK_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &(slipring_frame_message){0}, &id, &seq));
                CHECK_EQ(id, next + 1);
                sent++;
            }
            slipring_frame frame;
            while (take_frame(r, &frame)) {
                got++;
                release_frame(r, &frame);
            }
            CHECK_EQ(frame_counts(r).received, got);
            CHECK_EQ(frame_counts(r).received + frame_counts(r).lost, sent);
            CHECK_EQ(frame_counts(r).filtered, 0);
        }
        reading_end(r);
    }
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void many_streams(void) {
    slipring_stream s[3] = {stream_of("slow", 16, 2), stream_of("fast", 100, 3), stream_of("other", 8, 4)};
    struct writing w = writing("t", s, 3);
    struct reading slow = reading("t", READING(.stream = "slow")), fast = reading("t", READING(.stream = "fast"));
    struct reading all = reading("t", READING(.start = SLIPRING_START_NEW));
    uint64_t sent[3] = {0, 0, 0};
    for (uint64_t i = 0; i < 9000; i++) {
        uint32_t stream = i % 500 == 0 ? 0 : 1 + i % 2;
        CHECK_EQ(send_frame(w, stream, sent[stream]), sent[stream]);
        sent[stream]++;
        if (i % 1000 == 400) drain(slow);
        if (i % 7 == 0) drain(all);
    }
    drain(slow);
    drain(fast);
    drain(all);
    CHECK_EQ(frame_counts(slow).lost, 0);
    CHECK_EQ(frame_counts(slow).received, sent[0]);
    CHECK_EQ(frame_counts(fast).received, 3); /* as many as it has buffers: the rest was written over, or its news lapped */
    CHECK_EQ(frame_counts(fast).received + frame_counts(fast).lost, sent[1]);
    CHECK_EQ(frame_counts(all).received + frame_counts(all).lost, sent[0] + sent[1] + sent[2]);
    reading_end(slow);
    reading_end(fast);
    reading_end(all);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void conflated(void) {
    slipring_stream s[2] = {stream_of("a", 16, 3), stream_of("b", 16, 3)};
    struct writing w = writing("t", s, 2);
    struct reading r = reading("t", READING(.stream = "a", .conflate = true));
    slipring_frame frame;
    expect_no_frame(r);
    for (uint64_t i = 0; i < 10; i++) {
        send_frame(w, 0, i);
        send_frame(w, 1, 100 + i);
    }
    expect_frame(r, 9);
    expect_no_frame(r);
    send_frame(w, 0, 10);
    CHECK(take_frame(r, &frame));
    CHECK_EQ(frame.id, 10);
    for (uint64_t i = 11; i < 20; i++) send_frame(w, 0, i);
    CHECK_EQ(read_stamp(&frame), 10);
    release_frame(r, &frame);
    expect_frame(r, 19);
    slipring_counts c = frame_counts(r);
    CHECK_EQ(c.received, 3);
    CHECK_EQ(c.received + c.lost + c.filtered, 20);
    reading_end(r);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void starts(void) {
    slipring_stream s[2] = {stream_of("a", 16, 5), stream_of("b", 16, 5)};
    struct writing w = writing("t", s, 2);
    for (uint64_t i = 0; i < 12; i++) send_frame(w, 0, i);
    for (uint64_t i = 0; i < 30; i++) send_frame(w, 1, i);
    struct reading fresh = reading("t", READING(.stream = "a"));
    struct reading last = reading("t", READING(.stream = "a", .start = SLIPRING_START_LAST));
    struct reading oldest = reading("t", READING(.stream = "a", .start = SLIPRING_START_OLDEST));
    expect_frame(last, 11);
    for (uint64_t i = 7; i < 12; i++) expect_frame(oldest, i);
    CHECK_EQ(frame_counts(oldest).lost, 7);
    expect_no_frame(fresh);
    send_frame(w, 0, 12);
    expect_frame(fresh, 12);
    expect_frame(last, 12);
    expect_frame(oldest, 12);
    CHECK_EQ(frame_counts(fresh).lost + frame_counts(last).lost, 0);
    reading_end(fresh);
    reading_end(last);
    reading_end(oldest);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

/* A writer that waits for a subscriber may send before that one has its reader: those frames are not missed. */
static void sent_as_soon_as_seen(void) {
    slipring_stream s = stream_of("main", 16, 3);
    struct writing w = writing("t", &s, 1);
    for (int before = 0; before <= 1; before++) {
        struct reading r = {.sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW))};
        uint64_t first = send_frame(w, 0, 7);
        CHECK_OK(slipring_frame_reader_open(r.sub, bus, "t", READING(.start = SLIPRING_START_NEW), &r.reader));
        for (uint64_t i = 0; i < 8; i++) send_frame(w, 0, 8 + i);
        for (uint64_t i = 5; i < 8; i++) expect_frame(r, 8 + i);
        CHECK_EQ(frame_counts(r).received + frame_counts(r).lost, 9);
        CHECK_EQ(first, 9 * (uint64_t)before);
        reading_end(r);
    }
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void notes_arrive(void) {
    slipring_stream s = stream_of("main", 16, 2);
    struct writing w = writing("t", &s, 1);
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    slipring_frame_buffer buffer;
    slipring_frame frame;
    uint64_t id, seq;
    static char meta[SLIPRING_MAX_FRAME_META + 1];
    memset(meta, 'm', sizeof meta);
    slipring_frame_message note = {.start_ns = 5, .end_ns = 7, .meta = meta, .meta_size = sizeof meta, .meta_kind = 3};
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
    CHECK_CODE(slipring_frame_writer_send(w.writer, buffer.buffer, &note, &id, &seq), SLIPRING_TOO_LARGE);
    note.meta_size--;
    stamp_frame(buffer.data, buffer.size, 1);
    CHECK_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &note, &id, &seq));
    CHECK(take_frame(r, &frame));
    CHECK(frame.start_ns == 5 && frame.end_ns == 7 && frame.meta_kind == 3 && frame.seq == seq && frame.id == id);
    CHECK(frame.meta_size == SLIPRING_MAX_FRAME_META && memcmp(frame.meta, meta, frame.meta_size) == 0);
    CHECK(strcmp(frame.stream->name, "main") == 0 && frame.size == 128);
    release_frame(r, &frame);
    reading_end(r);
    writing_end(w);
}

static void run(void) {
    every_pace();
    many_streams();
    conflated();
    starts();
    sent_as_soon_as_seen();
    notes_arrive();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
