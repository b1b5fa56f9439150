/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: a frames topic with arbitrary contents in its three files, announcements among them. A writer
 * and two readers open and use it while its words change. It is inspected before and after that, and then
 * removed.
 *
 * Input: the number of changes before the ends are opened, then the changes; the rest come between the calls.
 */
#include <stdio.h>
#include <string.h>

#include "image.h"

#define TOPIC "f"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct image image;
static volatile unsigned char sum;

struct end {
    slipring_publisher *pub;
    slipring_frame_writer *writer;
    slipring_subscriber *sub;
    slipring_frame_reader *reader;
};

void fuzz_before_access(void) {}

static slipring_stream stream_of(const char *name, uint64_t bytes, uint32_t buffers) {
    slipring_stream s = {.dtype = "|u1", .shape = {bytes, 1}, .dimensions = 2, .item_size = 1, .buffers = buffers};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

static slipring_settings small(void) {
    slipring_settings settings = SLIPRING_SETTINGS_FRAMES;
    settings.capacity = 4096;
    settings.slots = 16;
    settings.max_readers = 3;
    settings.max_cursors = 1;
    return settings;
}

static bool open_writer(struct end *end, const slipring_stream *streams, size_t count) {
    slipring_settings settings = small();
    settings.must_exist = count == 0;
    memset(end, 0, sizeof *end);
    if (answered(slipring_publisher_open(bus, TOPIC, "fuzz", 4, &settings, &end->pub))) return false;
    if (answered(slipring_frame_writer_open(end->pub, bus, TOPIC, streams, count, &end->writer)) == SLIPRING_OK) return true;
    slipring_publisher_close(end->pub);
    end->writer = NULL;
    return false;
}

static void close_writer(struct end *end) {
    if (!end->writer) return;
    slipring_frame_writer_close(end->writer);
    slipring_publisher_close(end->pub);
}

static bool open_reader(struct end *end, int start, bool conflate) {
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = -1};
    slipring_frame_reader_settings reading = {.start = start, .conflate = conflate};
    memset(end, 0, sizeof *end);
    if (answered(slipring_subscriber_open(bus, TOPIC, &how, &end->sub))) return false;
    if (answered(slipring_frame_reader_open(end->sub, bus, TOPIC, &reading, &end->reader)) == SLIPRING_OK) return true;
    slipring_subscriber_close(end->sub);
    end->reader = NULL;
    return false;
}

static void close_reader(struct end *end) {
    if (!end->reader) return;
    slipring_frame_reader_close(end->reader);
    slipring_subscriber_close(end->sub);
}

static void send_one(slipring_frame_writer *writer, uint32_t stream, bool abort) {
    slipring_frame_buffer buffer;
    slipring_frame_message note = {.meta = "note", .meta_size = 4};
    uint64_t id, seq;
    if (answered(slipring_frame_writer_take(writer, stream, &buffer))) return;
    memset(buffer.data, 1, buffer.size);
    answered(abort ? slipring_frame_writer_abort(writer, buffer.buffer)
                   : slipring_frame_writer_send(writer, buffer.buffer, &note, &id, &seq));
}

static void take_some(slipring_frame_reader *reader) {
    slipring_frame frames[3];
    slipring_counts counts;
    size_t streams;
    int count = 0;
    while (count < 3 && answered(slipring_frame_reader_take(reader, &frames[count])) == SLIPRING_OK) {
        const slipring_frame *f = &frames[count++];
        for (size_t i = 0; i < f->size; i += 64) sum ^= ((const volatile uint8_t *)f->data)[i];
        sum ^= ((const volatile uint8_t *)f->data)[f->size - 1];
        for (uint32_t i = 0; i < f->meta_size; i++) sum ^= ((const volatile uint8_t *)f->meta)[i];
    }
    while (count--) answered(slipring_frame_reader_release(reader, frames[count].token));
    slipring_frame_reader_counts(reader, &counts);
    slipring_frame_reader_streams(reader, &streams);
    CHECK(streams <= SLIPRING_MAX_STREAMS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const char *const names[] = {TOPIC ".ring", TOPIC ".readers", TOPIC ".frames"};
    slipring_stream streams[2] = {stream_of("left", 100, 2), stream_of("right", 5000, 2)};
    struct end writer, reader;
    (void)argc, (void)argv;
    fuzz_start();
    CHECK(open_writer(&writer, streams, 2));
    for (uint32_t i = 0; i < 40; i++) send_one(writer.writer, i % 2, i % 7 == 6);
    CHECK(open_reader(&reader, SLIPRING_START_OLDEST, false));
    image_take(&image, 3, names, (size_t[]){0, 0, 3 * 4096});
    close_reader(&reader);
    close_writer(&writer);
    CHECK(slipring_topic_remove(bus, TOPIC) == SLIPRING_OK);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    slipring_stream other = stream_of("left", 200, 2);
    struct end writer, all, newest;
    slipring_pool_info info;
    image_restore(&image);
    uint64_t first = take(&in, 1);
    for (uint64_t i = first % 8; i > 0 && more(&in); i--) change(&in, &image, true);
    answered(slipring_pool_inspect(bus, TOPIC, &info));
    open_writer(&writer, &other, first & 0x80 ? 1 : 0);
    open_reader(&all, SLIPRING_START_OLDEST, false);
    open_reader(&newest, SLIPRING_START_LAST, true);
    for (unsigned round = 0; round < 8; round++) {
        if (writer.writer) send_one(writer.writer, round % 3, round % 4 == 3);
        if (all.reader) take_some(all.reader);
        if (newest.reader) take_some(newest.reader);
        if (more(&in)) change(&in, &image, false);
    }
    answered(slipring_pool_inspect(bus, TOPIC, &info));
    close_reader(&newest);
    close_reader(&all);
    close_writer(&writer);
    CHECK(answered(slipring_topic_remove(bus, TOPIC)) == SLIPRING_OK);
    nothing_left();
    return 0;
}
