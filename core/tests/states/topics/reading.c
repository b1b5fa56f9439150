/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations during which a subscriber or a sweeping process may die.
 */
#include <string.h>

#include "operations.h"

static slipring_subscriber *sub;
static slipring_publisher *racer;
static slipring_message held[2];

static void open_lossy(void) { sub = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .start = SLIPRING_START_OLDEST)); }
static void open_as_topic(void) { sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST)); }
static void open_new(void) { sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW)); }
static void open_last(void) { sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_LAST)); }
static void open_conflating(void) {
    sub = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .start = SLIPRING_START_OLDEST, .conflate = true));
}
static void open_with_racer(void) {
    open_lossy();
    racer = publisher("t", NULL);
}
/* Enough to reclaim what is being read. */
static void overtake(void) {
    for (int i = 0; i < 4; i++) send_message(racer, next_message());
}

static void act_read(void) {
    static struct message m;
    for (int i = 0; i < 3; i++) receive(sub, &m);
}

static bool take(void *context, const slipring_message *m) {
    (void)context;
    (void)m;
    return true;
}
static void act_drain(void) {
    size_t taken;
    int code = slipring_subscriber_drain(sub, 4, take, NULL, &taken);
    if (code != SLIPRING_EMPTY && code != SLIPRING_LAPPED) CHECK_OK(code);
}

static void hold(int i) {
    int code = slipring_subscriber_hold(sub, &held[i]);
    held[i].size = code ? UINT32_MAX : held[i].size;
    if (code != SLIPRING_EMPTY) CHECK_OK(code);
}
static void act_hold(void) {
    hold(0);
    hold(1);
}
static void open_and_hold(void) {
    open_as_topic();
    act_hold();
}
static void act_release(void) {
    for (int i = 0; i < 2; i++)
        if (held[i].size != UINT32_MAX) CHECK_OK(slipring_subscriber_release(sub, held[i].seq));
}

static void act_unsubscribe(void) { slipring_subscriber_close(sub); }
static void act_seek(void) { CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0)); }
static void act_sleep(void) { slipring_wait(&sub, 1, NULL, 0, slipring_deadline(0.00001), 0); }
static void act_sweep(void) {
    uint32_t swept;
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
}

/* Cursors */
static bool with_cursor(const struct setup *setup) { return setup->before == CURSOR; }
static bool without_loan(const struct setup *setup) { return setup->before != HELD && setup->before != DEAD; }
static bool overtaken(const struct setup *setup) {
    return setup->delivery == SLIPRING_LOSSY && setup->writers == SLIPRING_WRITERS_MANY && setup->before == ROUND;
}
static void make_cursor(void) {
    sub = subscriber("t", SUBSCRIBING(.cursor = "v", .start = SLIPRING_START_OLDEST));
}
static void open_cursor(void) { sub = subscriber("t", SUBSCRIBING(.cursor = "c")); }
static void open_cursor_and_read(void) {
    open_cursor();
    act_read();
}
static void act_commit(void) {
    uint64_t position = counts(sub).position;
    journal->cursor_asked = position - 1;
    CHECK_OK(slipring_subscriber_commit(sub, position - 1));
    journal->cursor_was = position - 1;
    journal->cursor_asked = position;
    CHECK_OK(slipring_subscriber_commit(sub, position));
    journal->cursor_was = position;
}
static void act_drop(void) {
    journal->flags = 1; /* from here on it may be gone */
    CHECK_OK(slipring_cursor_drop(bus, "t", "c"));
}
/* The cursor has expired: the next publisher frees it when it attaches. */
static void act_expire(void) {
    journal->flags = 1;
    journal->clock_ns += 1000000;
    publisher("t", NULL);
}

const struct operation reading_ops[] = {
    {"subscribe, lossy", NULL, open_lossy, NULL, NULL},
    {"subscribe", NULL, open_as_topic, NULL, NULL},
    {"subscribe from the last", NULL, open_last, NULL, NULL},
    {"unsubscribe", open_as_topic, act_unsubscribe, NULL, NULL},
    {"read", open_as_topic, act_read, NULL, NULL},
    {"read, lossy", open_lossy, act_read, NULL, NULL},
    {"read, overtaken", open_with_racer, act_read, overtaken, overtake},
    {"read the newest", open_conflating, act_read, NULL, NULL},
    {"drain", open_as_topic, act_drain, NULL, NULL},
    {"hold", open_as_topic, act_hold, NULL, NULL},
    {"hold, overtaken", open_with_racer, act_hold, overtaken, overtake},
    {"release", open_and_hold, act_release, NULL, NULL},
    {"seek", open_new, act_seek, NULL, NULL},
    {"sleep", open_new, act_sleep, NULL, NULL},
    {"sweep", NULL, act_sweep, NULL, NULL},
    {"make a cursor", NULL, make_cursor, without_loan, NULL},
    {"attach to a cursor", NULL, open_cursor, with_cursor, NULL},
    {"commit a cursor", open_cursor_and_read, act_commit, with_cursor, NULL},
    {"leave a cursor", open_cursor, act_unsubscribe, with_cursor, NULL},
    {"drop a cursor", NULL, act_drop, with_cursor, NULL},
    {"let a cursor expire", NULL, act_expire, with_cursor, NULL},
};
const size_t reading_op_count = sizeof reading_ops / sizeof reading_ops[0];
