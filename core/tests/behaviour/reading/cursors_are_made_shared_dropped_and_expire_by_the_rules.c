/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness.h"

static slipring_settings small = {.slots = 16, .capacity = 4096, .delivery = SLIPRING_RELIABLE, .max_cursors = 2};

static int open_code(const char *name, int64_t expires_ns) {
    slipring_subscriber *sub;
    int code = slipring_subscriber_open(bus, "t", SUBSCRIBING(.cursor = name, .expires_ns = expires_ns), &sub);
    if (code == SLIPRING_OK) slipring_subscriber_close(sub);
    return code;
}

static void names_and_numbers(void) {
    char name[SLIPRING_MAX_CURSOR_NAME + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    CHECK_CODE(open_code(name, 0), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(open_code("", 0), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(open_code("a/b", 0), SLIPRING_BAD_ARGUMENT);
    name[sizeof name - 2] = 0;
    CHECK_OK(open_code(name, 0));
    CHECK_OK(open_code("second", 0));
    CHECK_CODE(open_code("third", 0), SLIPRING_BUSY);
    CHECK(strcmp(slipring_last_error()->argument, "max_cursors") == 0);
    CHECK_OK(open_code(name, 0)); /* an existing one needs no entry */
    CHECK_OK(slipring_cursor_drop(bus, "t", name));
    CHECK_CODE(slipring_cursor_drop(bus, "t", name), SLIPRING_NOT_FOUND);
    CHECK_OK(open_code("third", 0));
    CHECK_OK(slipring_cursor_drop(bus, "t", "second"));
    CHECK_OK(slipring_cursor_drop(bus, "t", "third"));
}

static void one_reader_each(void) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "one"));
    CHECK_CODE(open_code("one", 0), SLIPRING_BUSY);
    CHECK_CODE(slipring_cursor_drop(bus, "t", "one"), SLIPRING_BUSY);
    slipring_subscriber_close(sub);
    CHECK_OK(open_code("one", 0));
    CHECK_OK(slipring_cursor_drop(bus, "t", "one"));
    sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    CHECK_CODE(slipring_subscriber_commit(sub, 0), SLIPRING_BAD_ARGUMENT);
    slipring_subscriber_close(sub);
    CHECK_CODE(open_code("x", 0), SLIPRING_OK);
    CHECK_OK(slipring_cursor_drop(bus, "t", "x"));
}

static void fill(slipring_publisher *pub) {
    while (slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_NOW, NULL) == SLIPRING_OK) continue;
    CHECK_EQ(slipring_last_error()->code, SLIPRING_FULL);
}

/* Expired: it holds nothing and begins afresh. Attended: it never expires, however long ago its last commit. */
static void expiry(slipring_publisher *pub) {
    CHECK_OK(open_code("brief", 30000000));
    fill(pub);
    pause_us(40000);
    for (int i = 0; i < 50; i++) send_text(pub, "x");
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "brief", .expires_ns = 1000000));
    fill(pub);
    pause_us(20000);
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, slipring_deadline(0.02), NULL), SLIPRING_FULL);
    static struct message m;
    while (receive(sub, &m)) continue;
    CHECK_EQ(counts(sub).lost, 0);
    CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    slipring_subscriber_close(sub);
    pause_us(5000);
    sub = subscriber("t", SUBSCRIBING(.cursor = "brief", .start = SLIPRING_START_NEW));
    send_text(pub, "first of the new one");
    expect_text(sub, "first of the new one");
    slipring_subscriber_close(sub);
    CHECK_OK(slipring_cursor_drop(bus, "t", "brief"));
}

static void run(void) {
    slipring_publisher *pub = publisher("t", &small);
    names_and_numbers();
    one_reader_each();
    expiry(pub);
    CHECK_CODE(slipring_cursor_drop(bus, "none", "x"), SLIPRING_NOT_FOUND);
    slipring_publisher_close(pub);
    slipring_subscriber *sub;
    CHECK_CODE(slipring_subscriber_open(bus, "t", SUBSCRIBING(.cursor = "x", .lossy = ASK_LOSSY), &sub),
               SLIPRING_BAD_ARGUMENT);
    const slipring_subscriber_settings *how = SUBSCRIBING(.cursor = "x", .start = SLIPRING_START_SEQ, .start_seq = 1 << 20);
    CHECK_CODE(slipring_subscriber_open(bus, "t", how, &sub), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_cursor_drop(bus, "t", "x"), SLIPRING_NOT_FOUND); /* the failed opening made none */
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
