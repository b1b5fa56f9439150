/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "endless_sleeps.h"
#include "survivors.h"

static slipring_publisher *pub;           /* lives through it all; NULL where only one writer may be */
static slipring_subscriber *copier, *safe; /* lossy; reliable (NULL on a lossy topic) */
static pid_t sleeper;
static atomic_int *sleeper_ready;

/* What one reader has been shown. */
struct sight {
    uint8_t seen[SOURCES][NUMBERS];
    uint32_t last[SOURCES];
    uint64_t last_seq, received;
};
static struct sight by_copy, by_safe;

static void saw(struct sight *sight, uint64_t seq, const void *body, size_t size) {
    uint32_t from, number;
    stamp_read(body, size, &from, &number);
    /* The sleeper may see a message before its sender comes to the point behind the commit; a message that never was
     * committed stays unrecorded. */
    for (int i = 0; !record->committed[from][number] && i < 1000; i++) pause_us(100);
    if (!record->committed[from][number]) FAIL("source %u's message %u was never committed, yet read", from, number);
    if (sight->seen[from][number]) FAIL("source %u's message %u was read twice", from, number);
    CHECK(sight->received == 0 || seq > sight->last_seq);
    CHECK(number >= sight->last[from]); /* numbers are given in the order of claims */
    sight->seen[from][number] = 1;
    sight->last[from] = number;
    sight->last_seq = seq;
    sight->received++;
}

static void read_all(slipring_subscriber *sub, struct sight *sight) {
    static struct message m;
    while (receive(sub, &m)) saw(sight, m.head.seq, m.body, m.head.size);
}

static void send_next(slipring_publisher *by) {
    char body[256];
    uint32_t number = next_number();
    stamp(body, 0, number);
    record->committed[0][number] = 1; /* before: the sleeper may be quick; if it fails the test fails */
    CHECK_OK(slipring_publisher_send(by, body, stamp_size(number), "", 0, SLIPRING_NOW, NULL));
}

static void send_and_read(slipring_publisher *by, int count) {
    for (int i = 0; i < count; i++) {
        send_next(by);
        if (safe) read_all(safe, &by_safe);
        if (i % 8 == 0) read_all(copier, &by_copy);
    }
}

/* In a process of its own, asleep most of the time; ends at the first message of type "end". */
static void sleep_and_read(void *unused) {
    static struct sight sight;
    static struct message m;
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    (void)unused;
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY));
    endless_sleeps = true; /* only a wake-up ends them, and one killed waker must not silence the others */
    atomic_store(sleeper_ready, 1);
    for (;;) {
        int code = slipring_subscriber_recv(sub, m.body, sizeof m.body, &m.head, meta, SLIPRING_FOREVER);
        if (code == SLIPRING_TOPIC_GONE) return;
        CHECK_OK(code);
        if (m.head.type_size == 3 && memcmp(meta, "end", 3) == 0) return;
        saw(&sight, m.head.seq, m.body, m.head.size);
    }
}

void await_sleeper(void) {
    char path[64], call[16];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)sleeper);
    for (;; pause_us(50)) {
        FILE *file = fopen(path, "r");
        if (!file) FAIL("cannot look at the sleeper: %s", path);
        char *found = fgets(call, sizeof call, file); /* "running", or a number */
        fclose(file);
        if (found && strtol(call, NULL, 10) == SYS_futex_waitv) return;
    }
}

static void fill(slipring_publisher *by) {
    char body[256];
    for (;;) {
        uint32_t number = next_number();
        stamp(body, 0, number);
        record->committed[0][number] = 1;
        int code = slipring_publisher_send(by, body, stamp_size(number), "", 0, SLIPRING_NOW, NULL);
        if (code == SLIPRING_OK) continue;
        CHECK_CODE(code, SLIPRING_FULL);
        record->committed[0][number] = 0;
        slipring_publisher_wait_space(by, slipring_deadline(0.0001)); /* leaves the mark of a sleeper */
        return;
    }
}

static void bring_to(int before) {
    slipring_publisher *by = pub ? pub : publisher("t", NULL);
    if (before != BEFORE_EMPTY) send_and_read(by, 2 * SLOTS + 5);
    if (before == BEFORE_CURSOR) {
        slipring_subscriber_close(subscriber("t", SUBSCRIBING(.cursor = "v", .start = SLIPRING_START_NEW)));
        send_and_read(by, 7);
    }
    if (before == BEFORE_FULL) fill(by);
    if (!pub) slipring_publisher_close(by);
    slipring_wait(&copier, 1, NULL, 0, slipring_deadline(0.0001), 0); /* leaves the mark of a sleeper */
}

void survivors_begin(const struct role *role) {
    if (!record) record = shared_memory(sizeof *record);
    if (!sleeper_ready) sleeper_ready = shared_memory(sizeof *sleeper_ready);
    memset(record, 0, sizeof *record);
    memset(&by_copy, 0, sizeof by_copy);
    memset(&by_safe, 0, sizeof by_safe);
    atomic_store(sleeper_ready, 0);
    source = 0;
    pub = NULL;
    copier = safe = NULL;
    sleeper = 0;
    if (role->before == BEFORE_NOTHING) return;
    slipring_settings how = {.slots = SLOTS, .capacity = 4096, .delivery = role->delivery, .writers = role->writers};
    CHECK_OK(slipring_topic_create(bus, "t", &how, false));
    if (role->writers == SLIPRING_WRITERS_MANY) pub = publisher("t", NULL);
    copier = subscriber("t", SUBSCRIBING(.lossy = ASK_LOSSY));
    if (role->delivery == SLIPRING_RELIABLE) safe = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    sleeper = child_start(sleep_and_read, NULL);
    bring_to(role->before);
    while (!atomic_load(sleeper_ready)) pause_us(50);
}

static uint64_t total_committed(void) {
    uint64_t total = 0;
    for (int s = 0; s < SOURCES; s++)
        for (int n = 0; n < NUMBERS; n++) total += record->committed[s][n];
    return total;
}

/* After a death during creation or removal, the next publisher gets a complete topic that works. */
static void begin_again(void) {
    slipring_publisher *new_pub;
    CHECK_OK(try_publisher("t", "successor", SETTINGS(.slots = SLOTS, .capacity = 4096), &new_pub));
    no_other_files("t");
    CHECK(file_exists("t", "ring") && file_exists("t", "readers"));
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (int i = 0; i < 40; i++) {
        send_text(new_pub, "anew");
        expect_text(sub, "anew");
    }
    verify("t");
    no_dead_entries("t");
    slipring_subscriber_close(sub);
    slipring_publisher_close(new_pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void all_gone(void) {
    slipring_message m;
    int code;
    while ((code = slipring_subscriber_peek(copier, &m)) == SLIPRING_OK) {
        code = slipring_subscriber_accept(copier); /* LAPPED: a crashed process reclaimed the message */
        if (code != SLIPRING_LAPPED) CHECK_OK(code);
    }
    do code = slipring_wait(&copier, 1, NULL, 0, SLIPRING_FOREVER, 0);
    while (code == SLIPRING_OK);
    CHECK_CODE(code, SLIPRING_TOPIC_GONE);
    child_join(sleeper); /* its sleep has no end: the remover or the death wake of the remover woke it */
    slipring_subscriber_close(copier);
    if (safe) slipring_subscriber_close(safe);
    slipring_publisher_close(pub);
    begin_again();
}

/* The cursor of the dead can be taken over; on a reliable topic nothing it had not committed is lost. */
static void take_over_cursor(void) {
    static struct sight sight;
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = "v", .start = SLIPRING_START_OLDEST));
    memset(&sight, 0, sizeof sight);
    read_all(sub, &sight);
    if (safe) CHECK_EQ(counts(sub).lost, 0);
    CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    slipring_subscriber_close(sub);
    CHECK_OK(slipring_cursor_drop(bus, "t", "v"));
}

/* The next to attach leaves nothing of the dead in the tables, and none of their claims open. */
static void attach_clears_up(void) {
    slipring_publisher_close(publisher("t", NULL));
    no_dead_entries("t");
}

static void sweep_clears_up(void) {
    uint32_t swept;
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
    no_dead_entries("t");
}

static void new_ones_join(const struct role *role) {
    slipring_publisher *successor = role->writers == SLIPRING_WRITERS_ONE ? pub : publisher("t", NULL);
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    static struct sight sight;
    memset(&sight, 0, sizeof sight);
    for (int i = 0; i < SLOTS + 3; i++) {
        send_and_read(successor, 1);
        read_all(sub, &sight);
    }
    CHECK_EQ(sight.received, SLOTS + 3);
    slipring_subscriber_close(sub);
    if (successor != pub) slipring_publisher_close(successor);
}

static void accounts_are_exact(void) {
    uint64_t total = total_committed();
    slipring_topic_info info = topic_info("t");
    CHECK_EQ(info.published, total);
    CHECK_EQ(info.unsettled, 0);
    CHECK_EQ(info.published + info.abandoned, info.tail);
    read_all(copier, &by_copy);
    slipring_counts c = counts(copier);
    CHECK_EQ(c.received, by_copy.received);
    CHECK_EQ(c.received + c.lost + c.filtered, total);
    if (!safe) return;
    read_all(safe, &by_safe);
    CHECK_EQ(counts(safe).lost, 0);
    CHECK_EQ(by_safe.received, total);
}

void survivors_judge(const struct role *role) {
    source = 0;
    if (role->before == BEFORE_NOTHING) {
        begin_again();
        return;
    }
    if (!file_exists("t", "ring")) {
        all_gone();
        return;
    }
    static unsigned judged;
    switch (judged++ % 3) {
        case 0: attach_clears_up(); break;
        case 1: sweep_clears_up(); break;
        default: break; /* the live ones must get along by themselves */
    }
    if (safe) read_all(safe, &by_safe);
    if (strstr(role->name, "cursor")) take_over_cursor();
    if (!pub) pub = publisher("t", NULL);
    send_and_read(pub, 2 * SLOTS + 3);
    new_ones_join(role);
    accounts_are_exact();
    verify("t");
    no_dead_entries("t");
    slipring_subscriber_close(copier);
    if (safe) slipring_subscriber_close(safe);
    send_typed(pub, "", "end");
    child_join(sleeper);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}
