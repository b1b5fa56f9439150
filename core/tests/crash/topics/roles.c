/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a process can be doing when it is killed. Roles open their own handles and leave them open at the end,
 * unless closing is what they are about.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "survivors.h"

static slipring_publisher *open_writer(void) {
    slipring_publisher *pub;
    CHECK_OK(try_publisher("t", "victim", NULL, &pub));
    return pub;
}

static bool send_one(slipring_publisher *pub, int64_t deadline) {
    char body[256];
    uint32_t number = next_number();
    stamp(body, source, number);
    record->current[source] = number;
    int code = slipring_publisher_send(pub, body, stamp_size(number), "", 0, deadline, NULL);
    if (code != SLIPRING_FULL) CHECK_OK(code);
    return code == SLIPRING_OK;
}

static void attach_and_detach(void) { slipring_publisher_close(open_writer()); }

static void send_some(void) {
    slipring_publisher *pub = open_writer();
    for (int i = 0; i < 24; i++)
        if (!send_one(pub, SLIPRING_NOW)) break;
}

static void send_and_wait(void) {
    slipring_publisher *pub = open_writer();
    for (int i = 0; i < 20; i++)
        if (!send_one(pub, slipring_deadline(0.002))) break;
}

static bool send_batch(slipring_publisher *pub) {
    char bodies[5][256];
    slipring_body list[5];
    size_t sent;
    uint64_t last;
    for (int i = 0; i < 5; i++) {
        uint32_t number = next_number();
        if (i == 0) record->current[source] = number;
        stamp(bodies[i], source, number);
        list[i] = (slipring_body){bodies[i], stamp_size(number)};
    }
    int code = slipring_publisher_try_send_many(pub, list, 5, "batch", 5, &sent, &last);
    if (code != SLIPRING_FULL) CHECK_OK(code);
    return code == SLIPRING_OK;
}

static void send_batches(void) {
    slipring_publisher *pub = open_writer();
    for (int batch = 0; batch < 4; batch++)
        if (!send_batch(pub)) break;
}

/* Every third note refuses: its message is aborted. */
static int note_down(void *context, uint64_t seq) {
    (void)context;
    return seq % 3 == 0 ? SLIPRING_BUSY : SLIPRING_OK;
}

static void send_precommit(void) {
    slipring_publisher *pub = open_writer();
    char body[256];
    uint64_t seq;
    for (int i = 0; i < 24; i++) {
        uint32_t number = next_number();
        stamp(body, source, number);
        record->current[source] = number;
        int code = slipring_publisher_send_precommit(pub, body, stamp_size(number), "typed", 5, "origin", 6, 1, note_down, NULL, &seq);
        if (code == SLIPRING_FULL) break;
        if (code != SLIPRING_BUSY) CHECK_OK(code);
    }
}

struct loan {
    slipring_claim claim;
    uint32_t number;
};

static bool lend(slipring_publisher *pub, struct loan *loan) {
    loan->number = next_number();
    int code = slipring_publisher_claim(pub, stamp_size(loan->number), "loan", 4, SLIPRING_NOW, &loan->claim);
    if (code == SLIPRING_FULL) return false;
    CHECK_OK(code);
    stamp(loan->claim.body, source, loan->number);
    return true;
}

static void commit(slipring_publisher *pub, const struct loan *loan) {
    record->current[source] = loan->number;
    CHECK_OK(slipring_publisher_commit(pub, &loan->claim));
}

/* Committed out of order, aborted, left open, with messages between. */
static void lend_some(void) {
    slipring_publisher *pub = open_writer();
    struct loan a, b, c, open;
    for (int round = 0; round < 3; round++) {
        if (!lend(pub, &a) || !lend(pub, &b) || !lend(pub, &c)) return;
        commit(pub, &c);
        CHECK_OK(slipring_publisher_abort(pub, &b.claim));
        if (!send_one(pub, SLIPRING_NOW)) return;
        commit(pub, &a);
    }
    lend(pub, &open);
    send_one(pub, SLIPRING_NOW);
}

static void lend_and_detach(void) {
    slipring_publisher *pub = open_writer();
    struct loan a, b;
    if (lend(pub, &a) && send_one(pub, SLIPRING_NOW) && lend(pub, &b)) commit(pub, &b);
    slipring_publisher_close(pub);
}

/* Nothing but aborted loans: what is abandoned is recorded as the ring goes round. */
static void abort_many(void) {
    slipring_publisher *pub = open_writer();
    struct loan a;
    for (int i = 0; i < 3 * SLOTS; i++) {
        if (!lend(pub, &a)) return;
        CHECK_OK(slipring_publisher_abort(pub, &a.claim));
    }
}

/* A child of the victim's that dies: at the point, or leaving two loans open. */
static void leave_behind(void *point) {
    become(SOURCES - 1, point);
    slipring_publisher *pub = open_writer();
    struct loan a, b;
    if (point) send_batch(pub);
    else if (lend(pub, &a) && send_one(pub, SLIPRING_NOW)) lend(pub, &b);
    kill(getpid(), SIGKILL);
}

static void send_after_a_death(const char *point) {
    slipring_publisher *pub = open_writer(); /* before: who attaches later sweeps */
    CHECK(child_killed(child_start(leave_behind, (void *)(uintptr_t)point)));
    for (int i = 0; i < 24; i++)
        if (!send_one(pub, SLIPRING_NOW)) break;
}

static void reclaim_from_the_dead(void) { send_after_a_death(NULL); }
static void help_the_dead_who_reserved(void) { send_after_a_death("claim.reserved"); }
static void help_the_dead_who_ended(void) { send_after_a_death("claim.before_tail"); }
static void help_the_dead_amid_a_run(void) { send_after_a_death("claim.one_more"); }

const struct role *doomed;
const char *doomed_at;

static void be_doomed(void *unused) {
    (void)unused;
    become(1, doomed_at);
    doomed->act();
}

static void stand_by_and_send(void) {
    slipring_publisher *pub = open_writer();
    child_killed(child_start(be_doomed, NULL)); /* or it lives: how often it sleeps depends on others */
    for (int i = 0; i < 24; i++)
        if (!send_one(pub, SLIPRING_NOW)) break;
    struct loan a;
    if (lend(pub, &a)) slipring_publisher_close(pub);
}

static void sweep_after_a_death(const char *point) {
    uint32_t swept;
    CHECK(child_killed(child_start(leave_behind, (void *)(uintptr_t)point)));
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
}

static void sweep_open_loans(void) { sweep_after_a_death(NULL); }
static void sweep_a_half_made_claim(void) { sweep_after_a_death("claim.reserved"); }

static void read_by(const slipring_subscriber_settings *how, int64_t deadline) {
    slipring_subscriber *sub = subscriber("t", how);
    char body[256], meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_message m;
    int code;
    while ((code = slipring_subscriber_recv(sub, body, sizeof body, &m, meta, deadline)) == SLIPRING_OK) continue;
    if (code != SLIPRING_EMPTY) CHECK_CODE(code, SLIPRING_TIMEOUT);
    slipring_subscriber_close(sub);
}

static void read_lossy(void) { read_by(SUBSCRIBING(.lossy = ASK_LOSSY, .start = SLIPRING_START_OLDEST), SLIPRING_NOW); }
static void read_as_topic(void) { read_by(SUBSCRIBING(.start = SLIPRING_START_OLDEST), SLIPRING_NOW); }
static void read_and_sleep(void) { read_by(SUBSCRIBING(.start = SLIPRING_START_LAST), slipring_deadline(0.001)); }

static void read_by_cursor(void) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST, .cursor = "v"));
    slipring_message m;
    for (int i = 0; i < 6; i++) {
        int code = slipring_subscriber_peek(sub, &m);
        if (code == SLIPRING_EMPTY) break;
        CHECK_OK(code);
        CHECK_OK(slipring_subscriber_accept(sub));
        if (i % 2) CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    }
    CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0));
    slipring_subscriber_close(sub);
}

static void drop_cursor(void) { CHECK_OK(slipring_cursor_drop(bus, "t", "v")); }

static void hold_some(void) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    slipring_message a, b, c;
    CHECK_OK(slipring_subscriber_hold(sub, &a));
    CHECK_OK(slipring_subscriber_hold(sub, &b));
    CHECK_OK(slipring_subscriber_release(sub, a.seq));
    CHECK_OK(slipring_subscriber_hold(sub, &c));
    CHECK_OK(slipring_subscriber_release(sub, c.seq));
    CHECK_OK(slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0));
    CHECK_OK(slipring_subscriber_hold(sub, &a));
}

/* As many as there are, up to three; the last one is not released. */
static void hold_what_there_is(void) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    slipring_message m;
    for (int i = 0; i < 3; i++) {
        int code = slipring_subscriber_hold(sub, &m);
        if (code == SLIPRING_EMPTY) return;
        CHECK_OK(code);
        if (i < 2) CHECK_OK(slipring_subscriber_release(sub, m.seq));
    }
}

static void sweep(void) {
    uint32_t swept;
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
}

static void create(void) {
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = SLOTS, .capacity = 4096), true));
}
static void create_by_opening(void) {
    slipring_publisher *pub;
    CHECK_OK(try_publisher("t", "victim", SETTINGS(.slots = SLOTS, .capacity = 4096), &pub));
    send_one(pub, SLIPRING_NOW);
}
static void remove_topic(void) {
    await_sleeper();
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

#define LOSSY SLIPRING_LOSSY
#define RELIABLE SLIPRING_RELIABLE
#define MANY SLIPRING_WRITERS_MANY
#define ONE SLIPRING_WRITERS_ONE
#define ON_ALL(name, before, act) \
    {name " (lossy, many writers)", LOSSY, MANY, before, act}, {name " (lossy, one writer)", LOSSY, ONE, before, act}, \
    {name " (reliable, many writers)", RELIABLE, MANY, before, act}, \
    {name " (reliable, one writer)", RELIABLE, ONE, before, act}

const struct role roles[] = {
    {"create", LOSSY, MANY, BEFORE_NOTHING, create},
    {"create by opening", LOSSY, MANY, BEFORE_NOTHING, create_by_opening},
    {"remove", LOSSY, MANY, BEFORE_LAPS, remove_topic},
    ON_ALL("attach and detach", BEFORE_LAPS, attach_and_detach),
    ON_ALL("send to an empty topic", BEFORE_EMPTY, send_some),
    ON_ALL("send and reclaim", BEFORE_LAPS, send_some),
    ON_ALL("send batches", BEFORE_LAPS, send_batches),
    ON_ALL("send batches to an empty topic", BEFORE_EMPTY, send_batches),
    ON_ALL("send with a precommit", BEFORE_LAPS, send_precommit),
    ON_ALL("lend, commit and abort", BEFORE_LAPS, lend_some),
    ON_ALL("detach with loans open", BEFORE_LAPS, lend_and_detach),
    ON_ALL("abort loans for laps", BEFORE_LAPS, abort_many),
    {"wait for space", RELIABLE, MANY, BEFORE_FULL, send_and_wait},
    {"wait for space (one writer)", RELIABLE, ONE, BEFORE_FULL, send_and_wait},
    {"read by copy (lossy)", LOSSY, MANY, BEFORE_LAPS, read_lossy},
    {"read by copy (lossy on a reliable topic)", RELIABLE, MANY, BEFORE_FULL, read_lossy},
    {"read by copy (reliable)", RELIABLE, MANY, BEFORE_FULL, read_as_topic},
    {"sleep for a message", RELIABLE, MANY, BEFORE_LAPS, read_and_sleep},
    {"read by a new cursor (lossy)", LOSSY, MANY, BEFORE_LAPS, read_by_cursor},
    {"read by a new cursor (reliable)", RELIABLE, MANY, BEFORE_FULL, read_by_cursor},
    {"read by an old cursor (lossy)", LOSSY, MANY, BEFORE_CURSOR, read_by_cursor},
    {"read by an old cursor (reliable)", RELIABLE, MANY, BEFORE_CURSOR, read_by_cursor},
    {"drop a cursor", RELIABLE, MANY, BEFORE_CURSOR, drop_cursor},
    {"hold and release (lossy)", LOSSY, MANY, BEFORE_LAPS, hold_some},
    {"hold and release (reliable)", RELIABLE, MANY, BEFORE_FULL, hold_some},
    {"reclaim from the dead (lossy)", LOSSY, MANY, BEFORE_LAPS, reclaim_from_the_dead},
    {"reclaim from the dead (reliable)", RELIABLE, MANY, BEFORE_LAPS, reclaim_from_the_dead},
    {"help the dead who reserved (lossy)", LOSSY, MANY, BEFORE_LAPS, help_the_dead_who_reserved},
    {"help the dead who ended (reliable)", RELIABLE, MANY, BEFORE_LAPS, help_the_dead_who_ended},
    {"help the dead who reserved a run (reliable)", RELIABLE, MANY, BEFORE_EMPTY, help_the_dead_who_reserved},
    {"help the dead amid a run (lossy)", LOSSY, MANY, BEFORE_EMPTY, help_the_dead_amid_a_run},
    {"sweep open loans", LOSSY, MANY, BEFORE_LAPS, sweep_open_loans},
    {"sweep a half-made claim", RELIABLE, MANY, BEFORE_LAPS, sweep_a_half_made_claim},
};
const struct role recoverers[] = {
    {.name = "attaches and sends", .act = send_some}, {.name = "sweeps", .act = sweep},
    {.name = "attaches and lends", .act = lend_some}, {.name = "reads", .act = read_as_topic},
    {.name = "holds", .act = hold_what_there_is},     {.name = "attaches and sends batches", .act = send_batches},
    {.name = "detaches with loans open", .act = lend_and_detach}, {.name = "sends with a precommit", .act = send_precommit},
    {.name = "reads and sleeps", .act = read_and_sleep},
};
const size_t recoverer_count = sizeof recoverers / sizeof recoverers[0];
const struct role creator = {.name = "creates", .act = create_by_opening};
const struct role remover = {.name = "removes", .act = remove_topic};
const struct role standby = {.name = "stood by and sends", .act = stand_by_and_send};
const struct role cursor_taker = {.name = "takes the cursor", .act = read_by_cursor};
const size_t role_count = sizeof roles / sizeof roles[0];
