/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer and a reader of frames, as crash/storms/structures.py has them in Python: a frame is a body of one size. */
#include <sched.h>
#include <string.h>

#include "slipring.h"
#include "storm.h"

int write_frames(struct worker *me, char **options, int count) {
    struct life *life = &me->life;
    slipring_settings settings = SLIPRING_SETTINGS_FRAMES;
    slipring_publisher *pub;
    slipring_frame_writer *writer;
    (void)options;
    if (count) return 2;
    if (slipring_publisher_open(life->bus, life->topic, life->sender, strlen(life->sender), &settings, &pub)) life_fail("open");
    if (slipring_frame_writer_open(pub, life->bus, life->topic, NULL, 0, &writer)) life_fail("frames");
    while (!stopping(life)) {
        slipring_frame_buffer buffer;
        slipring_frame_message nothing = {0};
        uint64_t id, seq, who = next_identity(me, 1);
        int code = slipring_frame_writer_take(writer, 0, &buffer);
        if (code == SLIPRING_FULL) { /* all are held */
            sched_yield();
            continue;
        }
        if (code) life_fail("take");
        body_make(who | POISON, buffer.data, (uint32_t)buffer.size);
        if (throw_dice(life, 10) == 0) {
            if (slipring_frame_writer_abort(writer, buffer.buffer)) life_fail("abort");
            continue;
        }
        body_make(who, buffer.data, (uint32_t)buffer.size);
        if (slipring_frame_writer_send(writer, buffer.buffer, &nothing, &id, &seq)) life_fail("send");
        write_down(me, SENT, id, who, 1, 1);
        beat(life);
    }
    slipring_frame_writer_close(writer);
    slipring_publisher_close(pub);
    return 0;
}

static struct record row(struct worker *me, const slipring_frame *frame) {
    uint64_t sent_ns, who = element_check(frame->data, (uint32_t)frame->size, &sent_ns);
    if (!who) return record(me, CORRUPT, frame->id, 0, TORN, 0);
    for (uint64_t i = throw_dice(&me->life, 4); i > 0; i--) sched_yield();
    if (element_check(frame->data, (uint32_t)frame->size, &sent_ns) != who) return record(me, CORRUPT, frame->id, who, CHANGED, 0);
    return record(me, RECEIVED, frame->id, who, sent_ns, frame->size);
}

int read_frames(struct worker *me, char **options, int count) {
    struct life *life = &me->life;
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = -1};
    slipring_frame_reader_settings reading = {.start = SLIPRING_START_LAST};
    slipring_subscriber *sub;
    slipring_frame_reader *reader;
    slipring_counts counts;
    (void)options;
    if (count) return 2;
    if (slipring_subscriber_open(life->bus, life->topic, &how, &sub)) life_fail("open");
    if (slipring_frame_reader_open(sub, life->bus, life->topic, &reading, &reader)) life_fail("frames");
    write_down(me, STARTED, 0, 0, 0, 0);
    for (;;) {
        slipring_frame frame;
        int code = slipring_frame_reader_take(reader, &frame);
        if (code == SLIPRING_OK) {
            struct record got = row(me, &frame);
            append(life, &got, sizeof got);
            if (slipring_frame_reader_release(reader, frame.token)) life_fail("release");
            beat(life);
            continue;
        }
        if (code != SLIPRING_EMPTY && code != SLIPRING_LAPPED) life_fail("take");
        if (reached_end(life, 0)) break;
        code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
        if (code != SLIPRING_OK && code != SLIPRING_TIMEOUT && code != SLIPRING_INTERRUPTED) life_fail("wait");
    }
    slipring_frame_reader_counts(reader, &counts);
    write_down(me, COUNTED, counts.position, counts.received, counts.lost, counts.filtered);
    write_down(me, ENDED, 0, 0, 0, 0);
    slipring_frame_reader_close(reader);
    slipring_subscriber_close(sub);
    return 0;
}
