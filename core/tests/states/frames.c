/* SPDX-License-Identifier: Apache-2.0
 *
 * The crash states of frames, of a pool that stays as it is (files.c has those that come and go). A survivor reads and
 * holds frames all the while; the writer lives on, or is the one who dies. What was announced, and only that, is counted
 * and whole; what is held does not change; every buffer is there again.
 */
#include <string.h>

#include "frame_topic.h"
#include "frames/writer.h"
#include "states.h"

#define BUFFERS 4
#define WORDS 6
enum { LEAST_SENT, MOST_SENT, FIRST_SAW, SECOND_SAW }; /* in the journal */
#define NOTED(what) (journal->value[what])

enum { WRITER_GONE, WRITER_LIVES }; /* a setup's `before`; its `delivery` is how many frames are held, `writers` how many
                                       * of those behind them the survivor has not read yet, `detail` how many were sent */

static struct writing w;
static struct reading r, survivor;
static slipring_frame held[BUFFERS];
static int held_count;
static uint64_t next_id; /* for the survivor to see */
static slipring_frame_buffer open_buffer;
static slipring_frame mine[2];

static void open_writer(void) {
    slipring_settings how = {.slots = 16, .capacity = 4096, .writers = SLIPRING_WRITERS_ONE, .content = SLIPRING_FRAMES,
                             .max_readers = 4, .max_cursors = 1};
    slipring_stream s = stream_of("main", WORDS, BUFFERS);
    CHECK_OK(slipring_publisher_open(bus, "t", "tester", 6, &how, &w.pub));
    CHECK_OK(slipring_frame_writer_open(w.pub, bus, "t", &s, 1, &w.writer));
    uint64_t found = w.writer->counts[0];
    if (found < NOTED(LEAST_SENT) || found > NOTED(MOST_SENT)) FAIL("%llu frames are counted", (unsigned long long)found);
    if (source) NOTED(source == 1 ? FIRST_SAW : SECOND_SAW) = found + 1;
    NOTED(LEAST_SENT) = NOTED(MOST_SENT) = found;
}

static void take(void) {
    int code = slipring_frame_writer_take(w.writer, 0, &open_buffer);
    if (code != SLIPRING_FULL) CHECK_OK(code);
    if (code) open_buffer.data = NULL;
}

static void fill(void) {
    uint64_t value[WORDS];
    if (!open_buffer.data) return;
    stamp_frame(value, sizeof value, NOTED(LEAST_SENT));
    volatile uint64_t *words = open_buffer.data;
    for (size_t i = 0; i < WORDS; i++) {
        step_before();
        words[i] = value[i];
        step_after();
    }
}

static void send(void) {
    uint64_t id, seq;
    if (!open_buffer.data) return;
    NOTED(MOST_SENT)++;
    CHECK_OK(slipring_frame_writer_send(w.writer, open_buffer.buffer, &(slipring_frame_message){0}, &id, &seq));
    CHECK_EQ(id, NOTED(LEAST_SENT));
    NOTED(LEAST_SENT)++;
    open_buffer.data = NULL;
}

static void send_one(void) {
    take();
    fill();
    send();
}

static void abort_it(void) {
    if (open_buffer.data) CHECK_OK(slipring_frame_writer_abort(w.writer, open_buffer.buffer));
}
static void open_and_take(void) {
    open_writer();
    take();
}
static void open_take_and_fill(void) {
    open_and_take();
    fill();
}
static void close_writer(void) { writing_end(w); }

static void open_reader(void) { r = reading("t", READING(.start = SLIPRING_START_OLDEST)); }
static void hold_two(void) {
    for (int i = 0; i < 2; i++)
        if (!take_frame(r, &mine[i])) mine[i].data = NULL;
}
static void open_and_hold(void) {
    open_reader();
    hold_two();
}
static void release_two(void) {
    for (int i = 0; i < 2; i++)
        if (mine[i].data) release_frame(r, &mine[i]);
}
static void close_reader(void) { reading_end(r); }
static void open_both(void) {
    open_writer();
    open_reader();
}
static void take_all(void) {
    slipring_frame frame;
    while (take_frame(r, &frame)) continue; /* and hold them */
}

static void sweep(void) {
    uint32_t swept;
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
}
static void come_and_send(void) {
    open_writer();
    send_one();
    close_writer();
}
static void come_and_hold(void) {
    open_and_hold();
    release_two();
    close_reader();
}

static void hold_one(void) {
    if (!take_frame(r, &mine[0])) mine[0].data = NULL;
}
static bool raced(const struct setup *setup) {
    return setup->before == WRITER_GONE && setup->delivery == 1 && setup->detail == 4;
}
static bool writer_gone(const struct setup *setup) { return setup->before == WRITER_GONE; }

static const struct operation operations[] = {
    {"open a writer", NULL, open_writer, writer_gone, NULL},
    {"take a buffer", open_writer, take, writer_gone, NULL},
    {"take a buffer in a race", open_both, take, raced, take_all},
    {"fill", open_and_take, fill, writer_gone, NULL},
    {"send", open_take_and_fill, send, writer_gone, NULL},
    {"abort", open_take_and_fill, abort_it, writer_gone, NULL},
    {"close a writer", open_take_and_fill, close_writer, writer_gone, NULL},
    {"open a reader", NULL, open_reader, NULL, NULL},
    {"hold frames", open_reader, hold_two, NULL, NULL},
    {"hold frames in a race", open_both, hold_one, raced, send_one},
    {"release frames", open_and_hold, release_two, NULL, NULL},
    {"close a reader", open_and_hold, close_reader, NULL, NULL},
    {"sweep", NULL, sweep, NULL, NULL},
};
static const struct operation recoverers[] = {
    {"sweep", NULL, sweep, NULL, NULL},
    {"come and send", NULL, come_and_send, writer_gone, NULL},
    {"come and hold", NULL, come_and_hold, NULL, NULL},
};

/* Survivors -------------------------------------------------------------------------------------------------- */

static void read_all(void) {
    slipring_frame frame;
    while (take_frame(survivor, &frame)) {
        CHECK_EQ(read_stamp(&frame), frame.id);
        CHECK(frame.id >= next_id && frame.id < NOTED(MOST_SENT));
        next_id = frame.id + 1;
        release_frame(survivor, &frame);
    }
}

static void begin(const struct setup *setup) {
    source = 0;
    next_id = 0;
    held_count = 0;
    open_writer();
    survivor = reading("t", READING(.start = SLIPRING_START_NEW));
    for (int i = 0; i < setup->detail; i++) {
        send_one();
        if (i < setup->detail - setup->delivery - setup->writers) read_all();
    }
    while (held_count < setup->delivery) {
        CHECK(take_frame(survivor, &held[held_count]));
        next_id = held[held_count++].id + 1;
    }
    if (setup->before == WRITER_GONE) close_writer();
}

static void held_are_unchanged(void) {
    for (int i = 0; i < held_count; i++) CHECK_EQ(read_stamp(&held[i]), held[i].id);
}

static void all_buffers_are_there(void) {
    slipring_frame_buffer buffer;
    for (int i = 0; i < BUFFERS; i++) CHECK_OK(slipring_frame_writer_take(w.writer, 0, &buffer));
    CHECK_CODE(slipring_frame_writer_take(w.writer, 0, &buffer), SLIPRING_FULL);
    for (uint32_t i = 0; i < BUFFERS; i++) CHECK_OK(slipring_frame_writer_abort(w.writer, i));
}

static uint64_t a_bit_each(uint64_t frames) { return (UINT64_C(1) << frames) - 1; }

static void judge(const struct setup *setup, enum mode mode, bool brief) {
    (void)brief;
    held_are_unchanged();
    verify("t");
    if (mode == BY_SWEEP) sweep();
    if (mode == BY_ATTACH) subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    if (setup->before == WRITER_GONE) open_writer();
    uint64_t now = NOTED(LEAST_SENT) + 1, first = NOTED(FIRST_SAW), second = NOTED(SECOND_SAW);
    verdict->there[1] = first ? a_bit_each((second ? second : now) - first) : 0;
    verdict->there[2] = second ? a_bit_each(now - second) : 0;
    read_all();
    if (setup->delivery <= 1) CHECK_EQ(next_id, NOTED(LEAST_SENT)); /* there is room: the newest is not taken for another */
    for (int i = 0; i < 3 * BUFFERS; i++) {
        send_one();
        if (i % 3 == 0) read_all();
    }
    read_all();
    CHECK_EQ(next_id, NOTED(LEAST_SENT));
    held_are_unchanged();
    slipring_counts c = frame_counts(survivor);
    CHECK_EQ(c.received + c.lost, NOTED(LEAST_SENT));
    for (int i = 0; i < held_count; i++) release_frame(survivor, &held[i]);
    all_buffers_are_there();
    verify("t");
    slipring_subscriber_close(subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW)));
    no_dead_entries("t");
}

static void end(const struct setup *setup) {
    if (setup->before == WRITER_LIVES) close_writer();
    reading_end(survivor);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static const struct setup setups[] = {
    {"the writer is gone, one frame is held", 1, 0, WRITER_GONE, 4},
    {"the writer is gone, all frames but one are held", 3, 0, WRITER_GONE, 4},
    {"the writer is gone, slot wrap", 1, 0, WRITER_GONE, 31},
    {"the writer is gone, nothing was sent", 0, 0, WRITER_GONE, 0},
    {"the writer is gone, frames are unread", 0, BUFFERS, WRITER_GONE, 6},
    {"the writer lives, one frame is held", 1, 0, WRITER_LIVES, 31},
    {"the writer lives, all frames but one are held", 3, 0, WRITER_LIVES, 4},
};
static const char *const suffixes[] = {"ring", "readers", "frames", NULL};

static const struct subject subject = {
    .name = "frames", .suffixes = suffixes, .setups = setups, .setup_count = sizeof setups / sizeof setups[0],
    .operations = operations, .operation_count = sizeof operations / sizeof operations[0],
    .recoverers = recoverers, .recoverer_count = sizeof recoverers / sizeof recoverers[0],
    .begin = begin, .judge = judge, .end = end,
};
const struct subject *subject_of_this_program(void) { return &subject; }
