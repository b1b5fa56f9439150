/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the survivors of a death can continue. Their handles stay open.
 */
#include <string.h>

#include "survivors.h"

static void held_is_unchanged(void) {
    if (!live.holder) return;
    if (memcmp(live.held.body, live.held_bytes, live.held.size)) FAIL("a held message changed");
}

static void commit_loan(void) {
    if (!live.loan.body) return;
    CHECK_OK(slipring_publisher_commit(live.lender, &live.loan));
    journal->status[0][live.loan_number] = DONE;
}

static slipring_topic_info info_now(void) {
    slipring_topic_info info;
    CHECK_OK(slipring_inspector_topic(live.inspector, &info));
    return info;
}

/* Nothing but the survivors in them. */
static void tables_are_clean(int more_writers) {
    slipring_topic_info info = info_now();
    slipring_writer_info writer;
    slipring_reader_info reader;
    int writers = 0, readers = 0;
    CHECK_EQ(info.unsettled, 0);
    for (uint32_t e = 0; e < info.max_writers; e++) {
        CHECK_OK(slipring_inspector_writer(live.inspector, e, &writer));
        if (writer.used && !writer.alive) FAIL("writer entry %u is a dead one's", e);
        writers += writer.used;
    }
    for (uint32_t e = 0; e < info.max_readers; e++) {
        CHECK_OK(slipring_inspector_reader(live.inspector, e, &reader));
        if (reader.used && !reader.alive) FAIL("reader entry %u is a dead one's", e);
        readers += reader.used;
    }
    CHECK_EQ(writers, live.live_writers + more_writers);
    CHECK_EQ(readers, live.live_readers);
}

/* A new publisher may get the entry of a crashed one, and stays attached. */
static slipring_publisher *recover(enum mode mode) {
    uint32_t swept;
    slipring_publisher *successor = mode == BY_ATTACH ? publisher("t", NULL) : NULL;
    if (mode == BY_SWEEP) CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
    if (mode != BY_THEMSELVES) tables_are_clean(mode == BY_ATTACH);
    return successor;
}

static void send_and_read(slipring_publisher *by, int count) {
    for (int i = 0; i < count; i++) {
        CHECK_OK(send_message(by, next_message()));
        if (live.safe) read_everything(live.safe, &live.by_safe);
        if (i % 8 == 0) read_everything(live.copier, &live.by_copy);
    }
}

/* The next subscriber on the cursor finds every message after the committed position. */
static void take_over(const slipring_cursor_info *cursor) {
    static struct sight sight;
    memset(&sight, 0, sizeof sight);
    bool first = !strcmp(cursor->name, "c");
    bool may_go = first && journal->flags; /* dropped or expired: opening it may create it again */
    if (first && (cursor->position < journal->cursor_was || cursor->position > journal->cursor_asked))
        FAIL("the cursor is at %llu", (unsigned long long)cursor->position);
    CHECK(!cursor->attached);
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.cursor = cursor->name, .start = SLIPRING_START_OLDEST));
    if (live.safe && !may_go) CHECK_EQ(counts(sub).position, cursor->position);
    read_everything(sub, &sight);
    if (live.safe) CHECK_EQ(counts(sub).lost, 0);
    CHECK_OK(slipring_subscriber_commit(sub, counts(sub).position));
    slipring_subscriber_close(sub);
    CHECK_OK(slipring_cursor_drop(bus, "t", cursor->name));
}

static void take_over_cursors(const struct setup *setup) {
    slipring_cursor_info cursor;
    bool there = false;
    for (uint32_t e = 0; e < info_now().max_cursors; e++) {
        CHECK_OK(slipring_inspector_cursor(live.inspector, e, &cursor));
        if (!cursor.used) continue;
        there = there || !strcmp(cursor.name, "c");
        take_over(&cursor);
    }
    if (setup->before == CURSOR && !there && !journal->flags) FAIL("the cursor is gone");
}

static uint64_t messages_there(const struct sight *sight, uint64_t *least_bytes, uint64_t *most_bytes) {
    uint64_t total = 0;
    *least_bytes = *most_bytes = 0;
    for (uint32_t s = 0; s < SOURCES; s++)
        for (uint32_t n = 0; n < NUMBERS; n++) {
            int status = journal->status[s][n];
            bool seen = sight->seen[s][n], there = status == DONE || (status == OPEN && seen);
            if (s && status == DONE && !seen) FAIL("message %u of source %u is lost", n, s);
            if (s && seen) verdict->there[s] |= verdict_bit(n);
            total += there;
            if (there) *most_bytes += body_size(n);
            if (there && status == DONE) *least_bytes += body_size(n); /* an OPEN one may not be counted */
        }
    return total;
}

static void accounts_are_exact(void) {
    uint64_t least, most, total = messages_there(live.safe ? &live.by_safe : &live.by_copy, &least, &most);
    slipring_topic_info info = info_now();
    slipring_counts c = counts(live.copier);
    CHECK_EQ(info.published, total);
    CHECK_EQ(info.unsettled, 0);
    CHECK_EQ(info.published + info.abandoned, info.tail);
    CHECK(info.bytes >= least && info.bytes <= most);
    CHECK_EQ(c.received, live.by_copy.received);
    CHECK_EQ(c.received + c.lost + c.filtered, total);
    if (!live.safe) return;
    CHECK_EQ(counts(live.safe).lost, 0);
    CHECK_EQ(live.by_safe.received, total);
    for (uint32_t s = 1; s < SOURCES; s++)
        if (memcmp(live.by_safe.seen[s], live.by_copy.seen[s], NUMBERS)) FAIL("two readers see different messages");
}

/* A reader, too, unless it is to be short. If a publisher has come already, no other. */
static void new_ones_join(const struct setup *setup, bool brief, slipring_publisher *successor) {
    static struct sight sight;
    memset(&sight, 0, sizeof sight);
    bool joins = setup->writers == SLIPRING_WRITERS_MANY && !successor;
    slipring_publisher *by = joins ? publisher("t", NULL) : successor ? successor : live.pub;
    slipring_subscriber *sub = brief ? NULL : subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (int i = 0; i < SLOTS + 3; i++) {
        send_and_read(by, 1);
        if (sub) read_everything(sub, &sight);
    }
    if (sub) CHECK_EQ(sight.received, SLOTS + 3);
    if (sub) slipring_subscriber_close(sub);
    if (joins) slipring_publisher_close(by);
}

void topic_judge(const struct setup *setup, enum mode mode, bool brief) {
    held_is_unchanged();
    CHECK_OK(slipring_inspector_verify(live.inspector));
    commit_loan();
    slipring_publisher *successor = recover(mode);
    read_now();
    if (setup->before == FULL && live.safe && !journal->wakes[1]) FAIL("a publisher that waits for space is not woken");
    take_over_cursors(setup);
    held_is_unchanged();
    if (live.holder) CHECK_OK(slipring_subscriber_release(live.holder, live.held.seq));
    if (!live.pub) live.pub = successor ? successor : publisher("t", NULL);
    send_and_read(live.pub, 1);
    if (!journal->wakes[0]) FAIL("a reader that sleeps is not woken");
    read_now();
    send_and_read(live.pub, 2 * live.slots + 3);
    new_ones_join(setup, brief, successor);
    read_now();
    accounts_are_exact();
    CHECK_OK(slipring_inspector_verify(live.inspector));
    bool one = setup->writers == SLIPRING_WRITERS_ONE;
    tables_are_clean(one || successor);
    if (one || successor) slipring_publisher_close(one ? live.pub : successor);
    no_other_files("t");
}
