/* SPDX-License-Identifier: Apache-2.0 */
#include "survivors.h"

#include <string.h>

struct survivors live;

void read_now(void) {
    if (live.safe) read_everything(live.safe, &live.by_safe);
    read_everything(live.copier, &live.by_copy);
}

static void send_and_read(slipring_publisher *by, int count) {
    for (int i = 0; i < count; i++) {
        CHECK_OK(send_message(by, next_message()));
        read_now();
    }
}

/* A lossy reader is left laps behind; a reliable one has read all. */
static void go_round(slipring_publisher *by) {
    for (int i = 0; i < 2 * SLOTS + 5; i++) {
        CHECK_OK(send_message(by, next_message()));
        if (live.safe) read_everything(live.safe, &live.by_safe);
    }
}

static void go_round_by_bytes(slipring_publisher *by) {
    for (int i = 0; i < 2 * CAPACITY / 256; i++) {
        CHECK_OK(send_message(by, message_sized(248)));
        if (live.safe) read_everything(live.safe, &live.by_safe);
    }
}

static uint64_t tail_of(slipring_subscriber *sub) { return counts(sub).tail; }

static void hold_at(uint64_t seq) {
    live.holder = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .start = SLIPRING_START_SEQ, .start_seq = seq));
    CHECK_OK(slipring_subscriber_hold(live.holder, &live.held));
    CHECK(live.held.size <= sizeof live.held_bytes);
    memcpy(live.held_bytes, live.held.body, live.held.size);
}

static void lend(slipring_publisher *by) {
    live.loan_number = next_message();
    CHECK_OK(slipring_publisher_claim(by, body_size(live.loan_number), "", 0, SLIPRING_NOW, &live.loan));
    stamp_body(live.loan.body, live.loan_number);
}

static void fill_up(slipring_publisher *by) {
    if (!live.safe) hold_at(topic_info("t").oldest);
    while (send_message(by, next_message()) == SLIPRING_OK) continue;
    journal->wakes[1] = 0;
    slipring_publisher_wait_space(by, slipring_deadline(0.00001)); /* leaves the mark of a sleeper */
}

static void end_before_the_wrap(slipring_publisher *by) {
    size_t left = CAPACITY - 32; /* 16 for the first message, and in the middle of the second the payload ends */
    while (left) {
        size_t size = left > 256 ? 256 : left;
        CHECK_OK(send_message(by, message_sized(size - 8))); /* 8 for the sender's name */
        read_now();
        left -= size;
    }
}

/* Those who die before; as source 3. */
static slipring_publisher *dying;
static void open_dying(void) { dying = publisher("t", NULL); }
static void leave_loan(void) {
    slipring_claim claim;
    CHECK_OK(slipring_publisher_claim(dying, 24, "", 0, SLIPRING_NOW, &claim));
}
static void send_dying(void) { send_message(dying, next_message()); }
static void leave_readers(void) {
    slipring_message held;
    subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    slipring_subscriber *holder = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .start = SLIPRING_START_OLDEST));
    CHECK_OK(slipring_subscriber_hold(holder, &held));
}

static void let_some_die(const struct setup *setup) {
    static const struct operation lender = {"lend", open_dying, leave_loan, NULL, NULL};
    static const struct operation sender = {"send", open_dying, send_dying, NULL, NULL};
    static const struct operation readers = {"read", NULL, leave_readers, NULL, NULL};
    if (setup->writers == SLIPRING_WRITERS_MANY) run_operation(&lender, 3, 0, 0, NULL);
    run_operation(&readers, 3, 0, 0, NULL);
    run_operation(&sender, 3, 0, (uint32_t)setup->detail, NULL);
}

static void leave_cursor(slipring_publisher *by) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "c", .start = SLIPRING_START_NEW, .expires_ns = 1000));
    journal->cursor_was = journal->cursor_asked = counts(sub).position;
    slipring_subscriber_close(sub);
    send_and_read(by, 5);
}

static void bring_to(const struct setup *setup, slipring_publisher *by) {
    switch ((enum before)setup->before) {
        case EMPTY: break;
        case SLOT_WRAP: send_and_read(by, 2 * SLOTS - 1); break;
        case LONG: send_and_read(by, 2 * live.slots - 2); break;
        case PAYLOAD_WRAP: end_before_the_wrap(by); break;
        case FULL: go_round(by); break;
        case ROUND: go_round(by); break;
        case CROWDED: go_round(by); break;
        case HEAVY: go_round_by_bytes(by); break;
        case CURSOR: go_round(by), leave_cursor(by); break;
        case HELD:
        case DEAD:
            go_round(by);
            hold_at(tail_of(live.copier) - 5);
            if (live.lender) lend(live.lender);
            if (live.lender) CHECK_OK(send_message(by, next_message()));
            break;
    }
}

static void leave_the_mark_of_a_sleeper(void) {
    journal->wakes[0] = 0;
    live.sleeper = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY, .start = SLIPRING_START_NEW));
    slipring_wait(&live.sleeper, 1, NULL, 0, slipring_deadline(0.00001), 0);
}

void topic_begin(const struct setup *setup) {
    slipring_settings how = {.slots = SLOTS, .capacity = CAPACITY, .delivery = setup->delivery, .writers = setup->writers,
                             .max_writers = 5, .max_readers = 7, .max_cursors = 2};
    bool many = setup->writers == SLIPRING_WRITERS_MANY;
    if (setup->before == HEAVY || setup->before == LONG) how.slots = 4 * SLOTS;
    if (setup->before == CROWDED) { /* two writers, two or three readers live */
        how.max_writers = 3;
        how.max_readers = setup->delivery == SLIPRING_RELIABLE ? 4 : 3;
        how.max_cursors = 1;
    }
    memset(&live, 0, sizeof live);
    live.slots = (int)how.slots;
    CHECK_OK(slipring_topic_create(bus, "t", &how, false));
    CHECK_OK(slipring_inspector_open(bus, "t", &live.inspector));
    source = 0;
    slipring_publisher *by = publisher("t", NULL);
    if (many) live.pub = by, live.lender = publisher("t", NULL);
    live.copier = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY));
    if (setup->delivery == SLIPRING_RELIABLE) live.safe = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    bring_to(setup, by);
    if (setup->before == FULL) fill_up(by);
    if (!many) slipring_publisher_close(by);
    leave_the_mark_of_a_sleeper();
    live.live_writers = many ? 2 : 0;
    live.live_readers = 2 + (live.safe != NULL) + (live.holder != NULL);
    if (setup->before == DEAD) let_some_die(setup);
}

void topic_end(const struct setup *setup) {
    (void)setup;
    slipring_inspector_close(live.inspector);
    if (live.holder) slipring_subscriber_close(live.holder);
    if (live.safe) slipring_subscriber_close(live.safe);
    slipring_subscriber_close(live.sleeper);
    slipring_subscriber_close(live.copier);
    if (live.lender) slipring_publisher_close(live.lender);
    if (live.pub) slipring_publisher_close(live.pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}
