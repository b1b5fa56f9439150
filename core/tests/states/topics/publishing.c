/* SPDX-License-Identifier: Apache-2.0
 *
 * What a publisher may be doing when it dies.
 */
#include "operations.h"

#include <string.h>

static slipring_publisher *pub, *other;
static slipring_claim claims[2];
static uint32_t numbers[2];

static void open_pub(void) { pub = publisher("t", NULL); }
static void open_both(void) {
    open_pub();
    other = publisher("t", NULL);
}
static void other_sends(void) { send_message(other, next_message()); }

/* False if there is no room. */
static bool lend(int i) {
    numbers[i] = next_message();
    int code = slipring_publisher_claim(pub, body_size(numbers[i]), "loan", 4, SLIPRING_NOW, &claims[i]);
    if (code != SLIPRING_FULL) CHECK_OK(code);
    if (code) claims[i].body = NULL;
    return code == SLIPRING_OK;
}

static void commit(int i) {
    if (!claims[i].body) return;
    journal->status[source][numbers[i]] = OPEN;
    CHECK_OK(slipring_publisher_commit(pub, &claims[i]));
    journal->status[source][numbers[i]] = DONE;
}

static void fill(int i) {
    if (claims[i].body) stamp_body(claims[i].body, numbers[i]);
}

static void open_and_lend(void) {
    open_pub();
    lend(0);
}
static void open_and_lend_filled(void) {
    open_and_lend();
    fill(0);
    lend(1); /* committed and aborted out of order */
    fill(1);
}

static void act_send(void) {
    if (send_message(pub, next_message()) == SLIPRING_OK) send_message(pub, next_message());
}
static void act_send_one(void) { send_message(pub, next_message()); }
static void act_claim_one(void) { lend(0); }
static void act_claim(void) {
    lend(0);
    lend(1);
}
static void act_fill(void) { fill(0); }
static void act_commit(void) {
    commit(1);
    commit(0);
}
static void act_abort(void) {
    for (int i = 1; i >= 0; i--)
        if (claims[i].body) CHECK_OK(slipring_publisher_abort(pub, &claims[i]));
}
static void act_detach(void) { slipring_publisher_close(pub); }

/* Several at once: a run of equal ones is claimed by one swap. */
void send_batch(slipring_publisher *by, bool equal, size_t count) {
    uint8_t bodies[MOST_AT_ONCE][64] __attribute__((aligned(8)));
    slipring_body list[MOST_AT_ONCE] = {{0}};
    uint32_t n[MOST_AT_ONCE];
    size_t sent;
    uint64_t last;
    void (*at_step)(void) = stepping.at_step;
    stepping.at_step = NULL;
    for (size_t i = 0; i < count; i++) {
        n[i] = equal ? message_sized(8) : next_message();
        stamp_body(bodies[i], n[i]);
        list[i] = (slipring_body){bodies[i], body_size(n[i])};
        journal->status[source][n[i]] = OPEN;
    }
    stepping.at_step = at_step;
    int code = slipring_publisher_try_send_many(by, list, count, "", 0, &sent, &last);
    if (code != SLIPRING_FULL) CHECK_OK(code);
    for (size_t i = 0; i < count; i++) journal->status[source][n[i]] = i < sent ? DONE : REFUSED;
}
static void act_batch(void) { send_batch(pub, false, MOST_AT_ONCE); }
static void act_run(void) { send_batch(pub, true, MOST_AT_ONCE); }

static int precommit(void *refuse, uint64_t seq) {
    (void)seq;
    return *(bool *)refuse ? SLIPRING_BUSY : SLIPRING_OK;
}
static void act_precommit(void) {
    for (int i = 0; i < 2; i++) {
        uint8_t body[256] __attribute__((aligned(8)));
        bool refuse = i == 0;
        uint64_t seq;
        uint32_t number = next_message();
        void (*at_step)(void) = stepping.at_step;
        stepping.at_step = NULL;
        stamp_body(body, number);
        stepping.at_step = at_step;
        journal->status[source][number] = refuse ? REFUSED : OPEN;
        int code = slipring_publisher_send_precommit(pub, body, body_size(number), "typed", 5, "origin", 6, 1, precommit,
                                                 &refuse, &seq);
        if (code != SLIPRING_FULL) CHECK_CODE(code, refuse ? SLIPRING_BUSY : SLIPRING_OK);
        journal->status[source][number] = code ? REFUSED : DONE;
    }
}

static void act_wait_for_space(void) {
    CHECK_CODE(send_message(pub, next_message()), SLIPRING_FULL);
    slipring_publisher_wait_space(pub, slipring_deadline(0.00001));
}

static bool is_full(const struct setup *setup) { return setup->before == FULL; }
/* One claim after the other, as "send" has it everywhere. */
static bool some_setups(const struct setup *setup) {
    return setup->before == EMPTY || setup->before == ROUND || setup->before == FULL;
}
/* Where the places a race can be lost at differ. */
static bool raced(const struct setup *setup) {
    bool dead = setup->before == DEAD && (setup->detail == 2 || setup->detail == 5);
    return setup->writers == SLIPRING_WRITERS_MANY && (setup->before == EMPTY || setup->before == ROUND || dead);
}
static bool raced_at_length(const struct setup *setup) {
    return setup->writers == SLIPRING_WRITERS_MANY && setup->before == LONG;
}
static bool raced_by_loans(const struct setup *setup) { return raced(setup) && setup->before == ROUND; }

const struct operation publishing[] = {
    {"attach", NULL, open_pub, NULL, NULL},
    {"send", open_pub, act_send, NULL, NULL},
    {"send in a race", open_both, act_send_one, raced, other_sends},
    {"send a batch", open_pub, act_batch, some_setups, NULL},
    {"send a run", open_pub, act_run, NULL, NULL},
    {"send a run in a race", open_both, act_run, raced_at_length, other_sends},
    {"send with a precommit", open_pub, act_precommit, NULL, NULL},
    {"claim", open_pub, act_claim, NULL, NULL},
    {"claim in a race", open_both, act_claim_one, raced_by_loans, other_sends},
    {"fill", open_and_lend, act_fill, NULL, NULL},
    {"commit", open_and_lend_filled, act_commit, NULL, NULL},
    {"abort", open_and_lend_filled, act_abort, NULL, NULL},
    {"detach with loans open", open_and_lend_filled, act_detach, NULL, NULL},
    {"wait for space", open_pub, act_wait_for_space, is_full, NULL},
};
const size_t publishing_count = sizeof publishing / sizeof publishing[0];

/* The one who comes next. Its own message is one more. */
static void attach_and_send(void) {
    open_pub();
    send_message(pub, next_message());
    slipring_publisher_close(pub);
}
static void sweep(void) {
    uint32_t swept;
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
}
static void subscribe_and_read(void) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    static struct message m;
    for (int i = 0; i < 2; i++) receive(sub, &m);
    slipring_subscriber_close(sub);
}
const struct operation topic_recoverers[] = {
    {"sweep", NULL, sweep, NULL, NULL},
    {"attach and send", NULL, attach_and_send, NULL, NULL},
    {"subscribe and read", NULL, subscribe_and_read, NULL, NULL},
};
const size_t topic_recoverer_count = sizeof topic_recoverers / sizeof topic_recoverers[0];
