/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of the core, each with what it needs before and what undoes it.
 */
#include "operations.h"

#include <errno.h>
#include <string.h>

static slipring_publisher *pub;
static slipring_subscriber *sub;
static slipring_inspector *inspector;
static slipring_range *range;
static slipring_cells_writer *cells_writer;
static slipring_cells_reader *cells_reader;
static slipring_frame_writer *frame_writer;
static slipring_frame_reader *frame_reader;
static char buffer[256], meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
static const slipring_settings reliable = {
    .capacity = 4096, .slots = 16, .delivery = SLIPRING_RELIABLE, .max_readers = 3, .max_writers = 3, .max_cursors = 2};

static void ok(int code) { CHECK_OK(code); }

bool may_do_without(const char *call, int error) {
    if (error == EACCES && strncmp(call, "openat", 6) == 0) return true; /* of the reader table: one who only looks */
    bool is_open = strcmp(call, "open") == 0 || strcmp(call, "open64") == 0;
    if (error == EACCES && is_open) return true; /* of the boot id: files in memory are of this boot */
    /* getrandom: the clock replaces it. Sleeps: the caller checks its condition again. Unlocks: the close
     * of the descriptor frees the lock. A query of a lock: the lock counts as held and its owner as alive.
     * fstat of an open file: the file is opened again, or counts as present. */
    static const char *const spared[] = {"fstat", "fstat64", "getrandom", "nanosleep", "syscall", "flock, to unlock", "fcntl, to unlock",
                                         "fcntl, to ask for a lock"};
    for (size_t i = 0; i < sizeof spared / sizeof spared[0]; i++)
        if (strcmp(spared[i], call) == 0) return true;
    return false;
}

/* Topics ---------------------------------------------------------------------------------------------------- */

static void make_topic(void) { ok(slipring_topic_create(bus, "t", &reliable, false)); }
static void remove_topic(void) { ok(slipring_topic_remove(bus, "t")); }
static int create(void) { return slipring_topic_create(bus, "t", &reliable, false); }
static int create_again(void) { return slipring_topic_create(bus, "t", &reliable, true); }
static int remove_it(void) { return slipring_topic_remove(bus, "t"); }
static int repair(void) {
    bool half;
    return slipring_topic_repair(bus, "t", true, &half);
}
static int sweep(void) {
    uint32_t swept;
    return slipring_topic_sweep(bus, "t", &swept);
}

/* Publishers and subscribers -------------------------------------------------------------------------------- */

static int open_publisher(void) { return slipring_publisher_open(bus, "t", "me", 2, &reliable, &pub); }
static void close_publisher(void) { slipring_publisher_close(pub); }
static void close_and_remove(void) { close_publisher(), remove_topic(); }
static void topic_with_publisher(void) { make_topic(), ok(open_publisher()); }
static int send_one(void) { return slipring_publisher_send(pub, "m", 1, "t", 1, SLIPRING_NOW, NULL); }
static int lend_one(void) {
    slipring_claim claim;
    int code = slipring_publisher_claim(pub, 100, "", 0, SLIPRING_NOW, &claim);
    return code ? code : slipring_publisher_commit(pub, &claim);
}
static int count_subscribers(void) {
    int count = slipring_publisher_subscribers(pub);
    return count < 0 ? count : SLIPRING_OK;
}

static int subscribe(const slipring_subscriber_settings *how) { return slipring_subscriber_open(bus, "t", how, &sub); }
static int open_reliable(void) { return subscribe(SUBSCRIBING(.start = SLIPRING_START_OLDEST)); }
static int open_lossy(void) { return subscribe(SUBSCRIBING(.start = SLIPRING_START_LAST, .lossy = ASK_LOSSY)); }
static int open_filtered(void) {
    slipring_text one = {"t", 1};
    slipring_filter filter = {.types = &one, .type_count = 1, .only_types = true, .ignore_senders = &one, .ignore_sender_count = 1};
    return subscribe(SUBSCRIBING(.filter = &filter));
}
static int open_cursor(void) { return subscribe(SUBSCRIBING(.cursor = "c")); }
static int drop_cursor(void) { return slipring_cursor_drop(bus, "t", "c"); }
static void close_subscriber(void) { slipring_subscriber_close(sub); }
static void close_and_drop(void) { close_subscriber(), ok(drop_cursor()); }
static void topic_with_cursor(void) { make_topic(), ok(open_cursor()), close_subscriber(); }
static void make_cursor(void) { ok(open_cursor()), close_subscriber(); }
static void reader_before_messages(void) {
    topic_with_publisher();
    ok(open_reliable());
    for (int i = 0; i < 3; i++) ok(send_one());
}
static void reader_gone(void) { close_subscriber(), close_and_remove(); }
static int receive_one(void) {
    slipring_message m;
    int code = slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0);
    return code ? code : slipring_subscriber_recv(sub, buffer, sizeof buffer, &m, meta, SLIPRING_NOW);
}
static int hold_one(void) {
    slipring_message m;
    int code = slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0);
    if (!code) code = slipring_subscriber_hold(sub, &m);
    return code ? code : slipring_subscriber_release(sub, m.seq);
}
static void idle_reader(void) { topic_with_publisher(), ok(open_reliable()); }
static int wait_briefly(void) {
    int code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(0.002), 0);
    return code == SLIPRING_TIMEOUT ? SLIPRING_OK : code;
}
static void full_topic(void) {
    idle_reader();
    while (send_one() == SLIPRING_OK) continue;
}
static int wait_for_room(void) {
    int code = slipring_publisher_wait_space(pub, slipring_deadline(0.002));
    return code == SLIPRING_TIMEOUT ? SLIPRING_OK : code;
}

/* Looking --------------------------------------------------------------------------------------------------- */

static int look(void) {
    slipring_topic_info info;
    int code = slipring_inspector_open(bus, "t", &inspector);
    if (code) return code;
    code = slipring_inspector_topic(inspector, &info);
    if (!code) code = slipring_inspector_verify(inspector);
    slipring_inspector_close(inspector);
    return code;
}
static int read_range(void) {
    uint64_t end;
    int code = slipring_range_open(bus, "t", &range);
    if (code) return code;
    code = slipring_range_settled(range, 0, 10, 1000, &end);
    if (!code) code = slipring_range_begin(range, 0);
    slipring_range_close(range);
    return code;
}

/* Cells ----------------------------------------------------------------------------------------------------- */

static const slipring_cells_settings cells = {.item_size = 8, .depth = 2, .format = "f", .format_size = 1};
static int create_cells(void) { return slipring_cells_create(bus, "c", &cells, false); }
static int create_cells_again(void) { return slipring_cells_create(bus, "c", &cells, true); }
static int remove_cells(void) { return slipring_cells_remove(bus, "c"); }
static void make_cells(void) { ok(create_cells()); }
static void cells_gone(void) { ok(remove_cells()); }
static int open_cells_writer(void) { return slipring_cells_writer_open(bus, "c", &cells_writer); }
static int open_cells_reader(void) { return slipring_cells_reader_open(bus, "c", &cells_reader); }
static void close_cells_writer(void) { slipring_cells_writer_close(cells_writer); }
static void close_cells_reader(void) { slipring_cells_reader_close(cells_reader); }
static void both_ends(void) { make_cells(), ok(open_cells_writer()), ok(open_cells_reader()); }
static void ends_gone(void) { close_cells_writer(), close_cells_reader(), cells_gone(); }
static int put_and_take(void) {
    slipring_element newest;
    int code = slipring_cells_writer_put(cells_writer, "12345678", 8, NULL);
    return code ? code : slipring_cells_reader_take_newest(cells_reader, &newest);
}
static int wait_for_cell(void) {
    int code = slipring_cells_reader_wait(cells_reader, slipring_deadline(0.002), 0);
    return code == SLIPRING_TIMEOUT ? SLIPRING_OK : code;
}
static int look_at_cells(void) {
    slipring_cells_info info;
    uint32_t swept;
    int code = slipring_cells_inspect(bus, "c", &info);
    return code ? code : slipring_cells_sweep(bus, "c", &swept);
}

/* Frames ---------------------------------------------------------------------------------------------------- */

static const slipring_settings frames = {
    .capacity = 4096, .slots = 16, .writers = SLIPRING_WRITERS_ONE, .max_readers = 3, .content = SLIPRING_FRAMES};
static const slipring_stream stream = {.name = "s", .dtype = "|u1", .shape = {100}, .dimensions = 1, .item_size = 1, .buffers = 2};
static const slipring_stream larger = {.name = "s", .dtype = "|u1", .shape = {200}, .dimensions = 1, .item_size = 1, .buffers = 2};

static void frames_topic(void) { ok(slipring_publisher_open(bus, "t", "me", 2, &frames, &pub)); }
static int open_frame_writer(void) { return slipring_frame_writer_open(pub, bus, "t", &stream, 1, &frame_writer); }
static int replace_pool(void) { return slipring_frame_writer_open(pub, bus, "t", &larger, 1, &frame_writer); }
static void close_frame_writer(void) { slipring_frame_writer_close(frame_writer); }
static void frames_with_pool(void) { frames_topic(), ok(open_frame_writer()); }
static void pool_without_writer(void) { frames_with_pool(), close_frame_writer(); }
static void with_frame_reader(void);
static int open_frame_reader(void) {
    slipring_frame_reader_settings how = {.start = SLIPRING_START_OLDEST};
    return slipring_frame_reader_open(sub, bus, "t", &how, &frame_reader);
}
static void close_frame_reader(void) { slipring_frame_reader_close(frame_reader); }
static void frames_and_subscriber(void) { frames_with_pool(), ok(open_lossy()); }
static void frames_and_subscriber_gone(void) { close_subscriber(), close_frame_writer(), close_and_remove(); }
static void with_frame_reader(void) { frames_and_subscriber(), ok(open_frame_reader()); }
static void frame_reader_gone(void) { close_frame_reader(), frames_and_subscriber_gone(); }
static void frames_gone(void) { close_frame_writer(), close_and_remove(); }
static int pass_frame(void) {
    slipring_frame_buffer taken;
    slipring_frame_message note = {.meta = "n", .meta_size = 1};
    slipring_frame frame;
    uint64_t id, seq;
    int code = slipring_frame_writer_take(frame_writer, 0, &taken);
    if (code) return code;
    code = slipring_frame_writer_send(frame_writer, taken.buffer, &note, &id, &seq);
    if (!code) code = slipring_frame_reader_take(frame_reader, &frame);
    return code ? code : slipring_frame_reader_release(frame_reader, frame.token);
}
static int look_at_pool(void) {
    slipring_pool_info info;
    return slipring_pool_inspect(bus, "t", &info);
}

const struct operation operations[] = {
    {"create a topic", NULL, create, remove_topic, NULL, WHOLE},
    {"create a topic that is there", make_topic, create_again, NULL, remove_topic, WHOLE},
    {"remove a topic", make_topic, remove_it, make_topic, remove_topic, IN_PARTS},
    {"repair a topic", make_topic, repair, NULL, remove_topic, WHOLE},
    {"sweep a topic", make_topic, sweep, NULL, remove_topic, WHOLE},
    {"open a publisher", make_topic, open_publisher, close_publisher, remove_topic, WHOLE},
    {"open a publisher of a new topic", NULL, open_publisher, close_and_remove, NULL, IN_PARTS},
    {"send", topic_with_publisher, send_one, NULL, close_and_remove, WHOLE},
    {"lend", topic_with_publisher, lend_one, NULL, close_and_remove, WHOLE},
    {"count subscribers", idle_reader, count_subscribers, NULL, reader_gone, WHOLE},
    {"open a reliable subscriber", make_topic, open_reliable, close_subscriber, remove_topic, WHOLE},
    {"open a lossy subscriber", make_topic, open_lossy, close_subscriber, remove_topic, WHOLE},
    {"open a subscriber with a filter", make_topic, open_filtered, close_subscriber, remove_topic, WHOLE},
    {"open a subscriber by a new cursor", make_topic, open_cursor, close_and_drop, remove_topic, WHOLE},
    {"open a subscriber by a cursor", topic_with_cursor, open_cursor, close_subscriber, remove_topic, WHOLE},
    {"drop a cursor", topic_with_cursor, drop_cursor, make_cursor, remove_topic, WHOLE},
    {"receive", reader_before_messages, receive_one, NULL, reader_gone, WHOLE},
    {"hold", reader_before_messages, hold_one, NULL, reader_gone, WHOLE},
    {"wait for a message", idle_reader, wait_briefly, NULL, reader_gone, WAITS},
    {"wait for room", full_topic, wait_for_room, NULL, reader_gone, WAITS},
    {"look", make_topic, look, NULL, remove_topic, WHOLE},
    {"read a range", reader_before_messages, read_range, NULL, reader_gone, WHOLE},
    {"create cells", NULL, create_cells, cells_gone, NULL, WHOLE},
    {"create cells that are there", make_cells, create_cells_again, NULL, cells_gone, WHOLE},
    {"remove cells", make_cells, remove_cells, make_cells, cells_gone, IN_PARTS},
    {"open a cells writer", make_cells, open_cells_writer, close_cells_writer, cells_gone, WHOLE},
    {"open a cells reader", make_cells, open_cells_reader, close_cells_reader, cells_gone, WHOLE},
    {"put and take", both_ends, put_and_take, NULL, ends_gone, WHOLE},
    {"wait for a cell", both_ends, wait_for_cell, NULL, ends_gone, WAITS},
    {"look at cells", make_cells, look_at_cells, NULL, cells_gone, WHOLE},
    {"open a frame writer", pool_without_writer, open_frame_writer, close_frame_writer, close_and_remove, WHOLE},
    {"replace a pool", pool_without_writer, replace_pool, close_frame_writer, close_and_remove, WHOLE},
    {"open a frame reader", frames_and_subscriber, open_frame_reader, close_frame_reader, frames_and_subscriber_gone, WHOLE},
    {"pass a frame", with_frame_reader, pass_frame, NULL, frame_reader_gone, WHOLE},
    {"look at a pool", frames_with_pool, look_at_pool, NULL, frames_gone, WHOLE},
    {0}};
