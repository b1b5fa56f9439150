/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_topic.h"

#include <string.h>

slipring_stream stream_of(const char *name, uint64_t words, uint32_t buffers) {
    slipring_stream s = {.dtype = "<u8", .shape = {words}, .dimensions = 1, .item_size = 8, .buffers = buffers};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

int try_writing(const char *topic, const slipring_stream *streams, size_t count, struct writing *out) {
    slipring_settings settings = SLIPRING_SETTINGS_FRAMES;
    int code = slipring_publisher_open(bus, topic, "tester", 6, &settings, &out->pub);
    if (code) return code;
    code = slipring_frame_writer_open(out->pub, bus, topic, streams, count, &out->writer);
    if (code) slipring_publisher_close(out->pub);
    return code;
}

struct writing writing(const char *topic, const slipring_stream *streams, size_t count) {
    struct writing w;
    CHECK_OK(try_writing(topic, streams, count, &w));
    return w;
}

void writing_end(struct writing w) {
    slipring_frame_writer_close(w.writer);
    slipring_publisher_close(w.pub);
}

int try_reading(const char *topic, const slipring_frame_reader_settings *how, struct reading *out) {
    int code = slipring_subscriber_open(bus, topic, SUBSCRIBING(.start = SLIPRING_START_NEW), &out->sub);
    if (code) return code;
    code = slipring_frame_reader_open(out->sub, bus, topic, how, &out->reader);
    if (code) slipring_subscriber_close(out->sub);
    return code;
}

struct reading reading(const char *topic, const slipring_frame_reader_settings *how) {
    struct reading r;
    CHECK_OK(try_reading(topic, how, &r));
    return r;
}

void reading_end(struct reading r) {
    slipring_frame_reader_close(r.reader);
    slipring_subscriber_close(r.sub);
}

void stamp_frame(void *data, size_t size, uint64_t value) {
    uint64_t *words = data;
    for (size_t i = 0; i < size / 8; i++) words[i] = (value << 16) + i;
}

uint64_t read_stamp(const slipring_frame *frame) {
    const uint64_t *words = frame->data;
    for (size_t i = 0; i < frame->size / 8; i++) CHECK_EQ(words[i], words[0] + i);
    return words[0] >> 16;
}

uint64_t send_frame(struct writing w, uint32_t stream, uint64_t value) {
    slipring_frame_buffer buffer;
    uint64_t id, seq;
    CHECK_OK(slipring_frame_writer_take(w.writer, stream, &buffer));
    stamp_frame(buffer.data, buffer.size, value);
    CHECK_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &(slipring_frame_message){0}, &id, &seq));
    return id;
}

bool take_frame(struct reading r, slipring_frame *out) {
    int code = slipring_frame_reader_take(r.reader, out);
    if (code == SLIPRING_EMPTY) return false;
    CHECK_OK(code);
    return true;
}

void release_frame(struct reading r, const slipring_frame *frame) {
    CHECK_OK(slipring_frame_reader_release(r.reader, frame->token));
}

void expect_frame(struct reading r, uint64_t value) {
    slipring_frame frame;
    if (!take_frame(r, &frame)) FAIL("there is no frame, not %llu", (unsigned long long)value);
    CHECK_EQ(read_stamp(&frame), value);
    release_frame(r, &frame);
}

void expect_no_frame(struct reading r) {
    slipring_frame frame;
    if (take_frame(r, &frame)) FAIL("there is frame %llu", (unsigned long long)read_stamp(&frame));
}

slipring_counts frame_counts(struct reading r) {
    slipring_counts counted;
    slipring_frame_reader_counts(r.reader, &counted);
    return counted;
}
