/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 22: readers notice and follow a restarted writer, of the same or of other streams. Unread frames
 * announced before the restart are still delivered. A held frame does not change, and ids continue. A reader
 * that insists on other streams gets an error with the value found and the value asked. The error for an
 * absent stream lists the existing streams.
 */
#include <string.h>

#include "frame_topic.h"

static void the_same_again(void) {
    slipring_stream s = stream_of("main", 50, 3);
    struct writing w = writing("t", &s, 1);
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    slipring_frame held, frame;
    send_frame(w, 0, 1);
    CHECK(take_frame(r, &held));
    CHECK_EQ(held.run, 1);
    send_frame(w, 0, 2);
    writing_end(w);
    w = writing("t", NULL, 0);
    expect_frame(r, 2);
    for (uint64_t i = 3; i < 20; i++) {
        CHECK_EQ(send_frame(w, 0, i), i - 1);
        CHECK(take_frame(r, &frame));
        CHECK_EQ(read_stamp(&frame), i);
        CHECK_EQ(frame.run, 2);
        release_frame(r, &frame);
        CHECK_EQ(read_stamp(&held), 1);
    }
    release_frame(r, &held);
    CHECK_EQ(frame_counts(r).lost, 0);
    reading_end(r);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

/* Numbers of a dead writer's buffers are not used again: what it left half-written is not seen. */
static void die_writing(void *unused) {
    (void)unused;
    slipring_frame_buffer buffer;
    struct writing w = writing("t", NULL, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
        stamp_frame(buffer.data, buffer.size / 2, 666);
    }
}

static void leftovers_of_a_dead_writer(void) {
    slipring_stream s = stream_of("main", 50, 3);
    struct writing w = writing("t", &s, 1);
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    for (uint64_t i = 0; i < 3; i++) send_frame(w, 0, i);
    writing_end(w);
    child_join(child_start(die_writing, NULL));
    expect_no_frame(r); /* all three were being written over */
    CHECK_EQ(frame_counts(r).lost, 3);
    w = writing("t", &s, 1);
    for (uint64_t i = 3; i < 9; i++) {
        CHECK_EQ(send_frame(w, 0, i), i);
        expect_frame(r, i);
    }
    CHECK_EQ(frame_counts(r).received + frame_counts(r).lost, 9);
    reading_end(r);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void other_streams(void) {
    slipring_stream before[2] = {stream_of("a", 50, 3), stream_of("b", 20, 2)};
    slipring_stream after[2] = {stream_of("b", 90, 4), stream_of("c", 5, 1)};
    struct writing w = writing("t", before, 2);
    struct reading all = reading("t", READING(.start = SLIPRING_START_NEW)), b = reading("t", READING(.stream = "b"));
    struct reading a = reading("t", READING(.stream = "a")), insisting = reading("t", READING(.insist = before, .insist_count = 2));
    slipring_frame held, frame;
    send_frame(w, 1, 1);
    CHECK(take_frame(b, &held));
    send_frame(w, 1, 2);
    send_frame(w, 0, 3);
    writing_end(w);
    w = writing("t", after, 2);
    CHECK_EQ(send_frame(w, 0, 4), 2); /* b's third */
    for (uint64_t i = 0; i < 4; i++) send_frame(w, 1, 10 + i);
    expect_frame(b, 2); /* of the old pool, announced before */
    CHECK(take_frame(b, &frame));
    CHECK(frame.id == 2 && frame.stream->shape[0] == 90 && read_stamp(&frame) == 4);
    CHECK_EQ(read_stamp(&held), 1);
    release_frame(b, &held);
    CHECK_CODE(slipring_frame_reader_release(b.reader, held.token), SLIPRING_BAD_ARGUMENT);
    release_frame(b, &frame);
    expect_frame(all, 1);
    expect_frame(all, 2);
    expect_frame(all, 3);
    expect_frame(all, 4);
    expect_frame(all, 13); /* the last of c's one buffer */
    CHECK_EQ(frame_counts(all).lost, 3);
    CHECK_EQ(frame_counts(b).lost, 0);

    expect_frame(a, 3);
    CHECK_CODE(slipring_frame_reader_take(a.reader, &frame), SLIPRING_NOT_FOUND);
    CHECK(strstr(slipring_last_error()->message, "'b', 'c'") && strcmp(slipring_last_error()->argument, "stream") == 0);
    for (uint64_t i = 1; i < 4; i++) expect_frame(insisting, i);
    for (int again = 0; again < 7; again++) {
        CHECK_CODE(slipring_frame_reader_take(insisting.reader, &frame), SLIPRING_EXISTS);
        CHECK(strcmp(slipring_last_error()->argument, "shape") == 0);
        CHECK(strcmp(slipring_last_error()->found, "(90,)") == 0 && strcmp(slipring_last_error()->asked, "(20,)") == 0);
    }
    struct reading none;
    CHECK_CODE(try_reading("t", READING(.stream = "x"), &none), SLIPRING_NOT_FOUND);
    CHECK_CODE(try_reading("t", READING(.insist = before, .insist_count = 2), &none), SLIPRING_EXISTS);

    /* And back: those who insisted go on, and know what they missed. */
    writing_end(w);
    w = writing("t", before, 2);
    CHECK_EQ(send_frame(w, 1, 50), 3);
    expect_frame(insisting, 50);
    CHECK_EQ(frame_counts(insisting).lost, 1);
    reading_end(a);
    reading_end(b);
    reading_end(all);
    reading_end(insisting);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
    CHECK(!file_exists("t", "frames"));
}

/* All of the old pool is held: none of the new one is. */
static void holds_are_of_one_pool(void) {
    slipring_stream before = stream_of("main", 50, 3), after = stream_of("main", 60, 3);
    struct writing w = writing("t", &before, 1);
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    slipring_frame held[3], frame;
    slipring_frame_buffer buffer;
    for (uint64_t i = 0; i < 3; i++) {
        send_frame(w, 0, i);
        CHECK(take_frame(r, &held[i]));
    }
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_FULL);
    writing_end(w);
    w = writing("t", &after, 1);
    for (int followed = 0; followed <= 1; followed++) {
        expect_no_frame(r); /* and looks for the new pool */
        for (int i = 0; i < 3; i++) CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
        for (uint32_t i = 0; i < 3; i++) CHECK_OK(slipring_frame_writer_abort(w.writer, i));
        send_frame(w, 0, 3);
        CHECK(take_frame(r, &frame));
        CHECK_EQ(frame.size, 480);
        release_frame(r, &frame);
    }
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(read_stamp(&held[i]), i);
        release_frame(r, &held[i]);
    }
    reading_end(r);
    writing_end(w);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void refusals(void) {
    slipring_stream s = stream_of("main", 50, 3), bad;
    struct writing w = writing("t", &s, 1), second;
    struct reading r;
    slipring_publisher *pub;
    CHECK_CODE(try_writing("t", &s, 1, &second), SLIPRING_BUSY);
    CHECK_CODE(try_publisher("t", "x", NULL, &pub), SLIPRING_EXISTS);
    writing_end(w);
    CHECK_CODE(try_publisher("t", "x", NULL, &pub), SLIPRING_EXISTS);
    CHECK(strcmp(slipring_last_error()->found, "frames") == 0 && strcmp(slipring_last_error()->asked, "messages") == 0);
    CHECK_OK(slipring_topic_create(bus, "m", SETTINGS(.slots = 16), false));
    CHECK_CODE(try_writing("m", &s, 1, &second), SLIPRING_EXISTS);
    CHECK_CODE(try_reading("m", READING(.stream = "main"), &r), SLIPRING_EXISTS);
    CHECK_CODE(try_writing("new", NULL, 0, &second), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, "shape") == 0);
    bad = stream_of("main", 0, 3);
    CHECK_CODE(try_writing("new", &bad, 1, &second), SLIPRING_BAD_ARGUMENT);
    bad = stream_of("main", UINT64_C(1) << 60, 3);
    CHECK_CODE(try_writing("new", &bad, 1, &second), SLIPRING_BAD_ARGUMENT);
    bad = stream_of("main", 10, 65);
    CHECK_CODE(try_writing("new", &bad, 1, &second), SLIPRING_BAD_ARGUMENT);
    bad = stream_of("../x", 10, 1);
    CHECK_CODE(try_writing("new", &bad, 1, &second), SLIPRING_BAD_ARGUMENT);
    slipring_stream twice[2] = {s, s};
    CHECK_CODE(try_writing("new", twice, 2, &second), SLIPRING_BAD_ARGUMENT);
}

static void run(void) {
    the_same_again();
    leftovers_of_a_dead_writer();
    other_streams();
    holds_are_of_one_pool();
    refusals();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
