/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames: a writer (thread 0) that fills buffers, a reader (thread 1) that holds a frame, looks twice, and lets go.
 */
#include "ports/publisher.h"
#include "schedules.h"
#include "shim.h"
#include "slipring.h"

#define TOPIC "f"
#define WORDS 2

static struct {
    slipring_publisher *pub;
    slipring_frame_writer *writer;
    slipring_subscriber *sub;
    slipring_frame_reader *reader;
    int sends, takes;
    uint64_t sent, refused, next;
} w;

static uint64_t word_of(uint64_t id, int place) { return (id + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)place; }

static void send(void) {
    slipring_frame_buffer buffer;
    uint64_t id, seq;
    int code = slipring_frame_writer_take(w.writer, 0, &buffer);
    if (code == SLIPRING_FULL) {
        w.refused++;
        return;
    }
    MUST(code == SLIPRING_OK, "take gives %d: %s", code, slipring_last_error()->message);
    _Atomic uint64_t *words = buffer.data;
    for (int i = 0; i < WORDS; i++) slr_store_relaxed(&words[i], word_of(w.sent, i));
    MUST_OK(slipring_frame_writer_send(w.writer, buffer.buffer, &(slipring_frame_message){0}, &id, &seq));
    MUST(id == w.sent, "frame %d is sent as %d", (int)w.sent, (int)id);
    w.sent++;
}

static void setup(uint32_t buffers, int sends, int takes) {
    slipring_settings settings = SLIPRING_SETTINGS_FRAMES;
    slipring_stream stream = {.name = "s", .dtype = "<u8", .shape = {WORDS}, .dimensions = 1, .item_size = 8, .buffers = buffers};
    settings.max_readers = 2;
    settings.max_cursors = 1;
    settings.capacity = 4096;
    settings.slots = 16;
    w.sends = sends;
    w.takes = takes;
    schedules_owner(0);
    MUST_OK(slipring_publisher_open(schedules_bus, TOPIC, "", 0, &settings, &w.pub));
    const struct slr_segment *s = w.pub->s;
    memory_alias(s->payload + s->capacity, s->payload, s->capacity);
    MUST_OK(slipring_frame_writer_open(w.pub, schedules_bus, TOPIC, &stream, 1, &w.writer));
    schedules_owner(1);
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = -1};
    MUST_OK(slipring_subscriber_open(schedules_bus, TOPIC, &how, &w.sub));
    MUST_OK(slipring_frame_reader_open(w.sub, schedules_bus, TOPIC, &(slipring_frame_reader_settings){.start = SLIPRING_START_NEW},
                                       &w.reader));
    for (uint32_t i = 0; i < buffers; i++) send(); /* every buffer has a frame, none was read yet */
}

static void write_all(void) {
    for (int i = 0; i < w.sends; i++) send();
}

static void check_frame(const slipring_frame *f, const char *how) {
    const _Atomic uint64_t *words = (const _Atomic uint64_t *)f->data;
    for (int i = 0; i < WORDS; i++)
        MUST(slr_load_relaxed(&words[i]) == word_of(f->id, i), "frame %d is %s at word %d", (int)f->id, how, i);
}

static bool take(void) {
    slipring_frame f;
    int code = slipring_frame_reader_take(w.reader, &f);
    if (code == SLIPRING_EMPTY) return false;
    MUST(code == SLIPRING_OK, "take gives %d: %s", code, slipring_last_error()->message);
    MUST(f.id >= w.next, "frame %d comes after %d", (int)f.id, (int)w.next - 1);
    w.next = f.id + 1;
    check_frame(&f, "torn");
    check_frame(&f, "changed while it was held");
    MUST_OK(slipring_frame_reader_release(w.reader, f.token));
    schedules_outcome(f.id);
    return true;
}

static void read_all(void) {
    for (int i = 0; i < w.takes; i++) take();
}

static void judge(void) {
    slipring_counts counts;
    if (schedules_crashed(1)) { /* its bit holds nobody up */
        uint64_t before = w.refused;
        for (int i = 0; i < 6; i++) send();
        MUST(w.refused == before, "a dead reader's frame cannot be written over");
        return;
    }
    while (take()) continue;
    slipring_frame_reader_counts(w.reader, &counts);
    if (!schedules_crashed(0))
        MUST(counts.received + counts.lost == w.sent, "received %d + lost %d of %d frames", (int)counts.received,
             (int)counts.lost, (int)w.sent);
    schedules_outcome(counts.lost);
    schedules_outcome(w.refused);
}

static void setup_two(void) { setup(2, 2, 2); }
static void setup_one(void) { setup(1, 2, 2); }

#define FRAMES(title, make)                                                                               \
    extern const struct scenario scenario_##title; \
    const struct scenario scenario_##title = {.name = #title, .setup = make, .judge = judge, .threads = 2, \
        .role = {write_all, read_all}, .may_crash = true, .all = {{3, 0, 0}, {2, 1, 0}, {2, 0, 1}}}
FRAMES(frames_of_two, setup_two);
FRAMES(frames_of_one, setup_one);
