/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 22 and invariant 5: a held frame is never overwritten. The writer does not wait for readers while a
 * buffer is free. Without a free buffer it gets SLIPRING_FULL, and the error names `buffers`. The frame of a
 * dead holder returns to the pool. An aborted frame is never seen.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "frame_topic.h"

static void outlasts_everything(struct writing w, struct reading r) {
    slipring_frame held, other;
    send_frame(w, 0, 1);
    CHECK(take_frame(r, &held));
    for (uint64_t i = 2; i < 1000; i++) {
        send_frame(w, 0, i);
        CHECK_EQ(read_stamp(&held), 1);
        if (i % 7) continue;
        while (take_frame(r, &other)) release_frame(r, &other);
    }
    CHECK_EQ(read_stamp(&held), 1);
    release_frame(r, &held);
    CHECK_CODE(slipring_frame_reader_release(r.reader, held.token), SLIPRING_BAD_ARGUMENT);
    while (take_frame(r, &other)) release_frame(r, &other);
}

static void full_when_all_are_held(struct writing w, struct reading a, struct reading b) {
    slipring_frame held[4];
    slipring_frame_buffer buffer;
    for (uint64_t i = 0; i < 4; i++) {
        send_frame(w, 0, i);
        CHECK(take_frame(i % 2 ? a : b, &held[i]));
        if (i % 2) expect_frame(b, i);
        else expect_frame(a, i);
    }
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_FULL);
    CHECK(strcmp(slipring_last_error()->argument, "buffers") == 0);
    for (uint64_t i = 0; i < 4; i++) CHECK_EQ(read_stamp(&held[i]), i);
    release_frame(a, &held[1]);
    send_frame(w, 0, 100);
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_OK); /* the one just sent, which nobody holds */
    CHECK_OK(slipring_frame_writer_abort(w.writer, buffer.buffer));
    for (uint64_t i = 0; i < 4; i++)
        if (i != 1) CHECK_EQ(read_stamp(&held[i]), i);
    for (uint64_t i = 0; i < 4; i++)
        if (i != 1) release_frame(i % 2 ? a : b, &held[i]);
    expect_no_frame(a); /* 100 was written over */
    CHECK_EQ(frame_counts(a).lost, 1);
}

static void hold_all(void *ready) {
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    slipring_frame frame;
    *(_Atomic int *)ready = 1;
    for (int held = 0; held < 4;) held += take_frame(r, &frame);
    *(_Atomic int *)ready = 2;
    for (;;) pause();
}

static void the_dead_hold_nothing(struct writing w) {
    _Atomic int *ready = shared_memory(sizeof *ready);
    pid_t holder = child_start(hold_all, (void *)ready);
    slipring_frame_buffer buffer;
    while (*ready < 1) pause_us(100);
    for (uint64_t i = 0; i < 4; i++) send_frame(w, 0, i);
    while (*ready < 2) pause_us(100);
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_FULL);
    kill(holder, SIGSTOP);
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_FULL); /* a paused one is not dead */
    child_kill(holder);
    for (uint64_t i = 0; i < 20; i++) send_frame(w, 0, i);
    no_dead_entries("t");
}

static void what_is_aborted_is_not_seen(struct writing w, struct reading r) {
    slipring_frame_buffer a, b, more;
    uint64_t id, seq;
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &a));
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &b));
    CHECK(a.buffer != b.buffer);
    stamp_frame(a.data, a.size, 77);
    expect_no_frame(r);
    CHECK_OK(slipring_frame_writer_abort(w.writer, a.buffer));
    CHECK_CODE(slipring_frame_writer_abort(w.writer, a.buffer), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_frame_writer_send(w.writer, a.buffer, &(slipring_frame_message){0}, &id, &seq), SLIPRING_BAD_ARGUMENT);
    expect_no_frame(r);
    stamp_frame(b.data, b.size, 78);
    CHECK_OK(slipring_frame_writer_send(w.writer, b.buffer, &(slipring_frame_message){0}, &id, &seq));
    expect_frame(r, 78);
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &a));
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &b));
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &more));
    CHECK_OK(slipring_frame_writer_take(w.writer, 0, &more));
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &more), SLIPRING_FULL);
    CHECK_CODE(slipring_frame_writer_take(w.writer, 1, &more), SLIPRING_BAD_ARGUMENT);
    for (uint32_t i = 0; i < 4; i++) CHECK_OK(slipring_frame_writer_abort(w.writer, i));
}

static void run(void) {
    slipring_stream s = stream_of("main", 700, 4);
    struct writing w = writing("t", &s, 1);
    struct reading a = reading("t", READING(.start = SLIPRING_START_NEW));
    struct reading b = reading("t", READING(.start = SLIPRING_START_NEW));
    outlasts_everything(w, a);
    reading_end(b);
    b = reading("t", READING(.start = SLIPRING_START_NEW));
    reading_end(a);
    a = reading("t", READING(.start = SLIPRING_START_NEW));
    full_when_all_are_held(w, a, b);
    what_is_aborted_is_not_seen(w, a);
    reading_end(a);
    reading_end(b);
    the_dead_hold_nothing(w);
    writing_end(w);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
