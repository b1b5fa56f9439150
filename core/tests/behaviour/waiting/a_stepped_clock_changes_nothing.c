/* SPDX-License-Identifier: Apache-2.0
 *
 * The wall clock is set back and forward while a topic and cells are in use. Messages keep their order. Waits
 * end by the monotonic clock, and a deleted file is still noticed. Time stamps follow the wall clock. A
 * cursor expires only when the wall clock is past its expiry. clock_gettime is linked through a wrapper that
 * adds the step.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define YEAR (8766 * HOUR)

static int64_t step_ns;
int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    int code = __real_clock_gettime(clock, out);
    if (clock != CLOCK_REALTIME) return code;
    int64_t now = out->tv_sec * SECOND + out->tv_nsec + step_ns;
    *out = (struct timespec){.tv_sec = now / SECOND, .tv_nsec = now % SECOND};
    return code;
}

static int64_t wall_clock_ns(void) {
    struct timespec now;
    __wrap_clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static const int64_t steps[] = {-HOUR, -1, -YEAR, HOUR, -10 * YEAR, 20 * YEAR, -SECOND, 0};

/* Messages arrive in order and without loss. Their time stamps soon follow the stepped clock. */
static void messages_go_on(slipring_publisher *pub, slipring_subscriber *sub) {
    static struct message m;
    int64_t away = INT64_MAX;
    for (uint64_t sent = 0; sent < 50 || away > SECOND; sent++) { /* the watchdog ends it */
        uint64_t seq = send_text(pub, "tick");
        CHECK(receive(sub, &m));
        CHECK_EQ(m.head.seq, seq);
        away = m.head.time_ns - wall_clock_ns();
        if (away < 0) away = -away;
    }
}

static void waits_end(slipring_publisher *pub, slipring_subscriber *sub) {
    static struct message m;
    CHECK_CODE(slipring_wait(&sub, 1, NULL, 0, slipring_deadline(0.003), 0), SLIPRING_TIMEOUT);
    while (slipring_publisher_send(pub, "m", 1, "", 0, SLIPRING_NOW, NULL) == SLIPRING_OK) continue;
    CHECK_CODE(slipring_publisher_send(pub, "m", 1, "", 0, slipring_deadline(0.003), NULL), SLIPRING_FULL);
    while (receive(sub, &m)) continue;
}

static void topics(void) {
    slipring_publisher *pub = publisher("t", SETTINGS(.capacity = 4096, .slots = 16, .delivery = SLIPRING_RELIABLE));
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        step_ns += steps[i];
        messages_go_on(pub, sub);
        waits_end(pub, sub);
        verify("t");
    }
    slipring_subscriber_close(sub);
    step_ns -= HOUR;
    char path[128];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/t.%s", bus, i ? "ring" : "readers");
        CHECK(unlink(path) == 0);
    }
    while (slipring_publisher_send(pub, "m", 1, "", 0, SLIPRING_NOW, NULL) != SLIPRING_TOPIC_GONE) pause_us(100);
    slipring_publisher_close(pub);
}

static void cells(void) {
    slipring_cells_settings settings = {.item_size = 8, .depth = 2};
    slipring_cells_writer *writer;
    slipring_cells_reader *reader;
    slipring_element newest;
    uint64_t seq;
    CHECK_OK(slipring_cells_create(bus, "c", &settings, false));
    CHECK_OK(slipring_cells_writer_open(bus, "c", &writer));
    CHECK_OK(slipring_cells_reader_open(bus, "c", &reader));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        step_ns += steps[i];
        CHECK_OK(slipring_cells_writer_put(writer, "12345678", 8, &seq));
        CHECK_OK(slipring_cells_reader_take_newest(reader, &newest));
        CHECK_EQ(newest.seq, seq);
        CHECK_CODE(slipring_cells_reader_wait(reader, slipring_deadline(0.003), 0), SLIPRING_TIMEOUT);
    }
    step_ns -= HOUR;
    char path[128];
    snprintf(path, sizeof path, "%s/c.cells", bus);
    CHECK(unlink(path) == 0);
    while (slipring_cells_writer_put(writer, "12345678", 8, &seq) != SLIPRING_TOPIC_GONE) pause_us(100);
    slipring_cells_writer_close(writer);
    slipring_cells_reader_close(reader);
}

static bool cursor_is_there(const char *topic) {
    uint32_t swept;
    slipring_inspector *inspector;
    slipring_cursor_info info;
    slipring_publisher_close(publisher(topic, NULL)); /* who attaches sweeps */
    CHECK_OK(slipring_topic_sweep(bus, topic, &swept));
    CHECK_OK(slipring_inspector_open(bus, topic, &inspector));
    CHECK_OK(slipring_inspector_cursor(inspector, 0, &info));
    slipring_inspector_close(inspector);
    return info.used;
}

static void cursors(void) {
    slipring_subscriber *sub;
    slipring_publisher_close(publisher("k", SETTINGS(.capacity = 4096, .slots = 16, .delivery = SLIPRING_RELIABLE)));
    CHECK_OK(slipring_subscriber_open(bus, "k", SUBSCRIBING(.cursor = "c", .expires_ns = HOUR), &sub));
    slipring_subscriber_close(sub);
    step_ns -= YEAR;
    CHECK(cursor_is_there("k"));
    step_ns += YEAR;
    CHECK(cursor_is_there("k"));
    step_ns += 2 * HOUR;
    CHECK(!cursor_is_there("k"));
}

static void run(void) {
    topics();
    cells();
    cursors();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
