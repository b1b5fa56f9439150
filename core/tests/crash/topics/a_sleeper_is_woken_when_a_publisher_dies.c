/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher dies after its message became readable and before it has woken anybody; so does one that puts an element,
 * announces a frame or removes a topic. Sleeps are endless here, and nobody publishes again: a reader that is not woken is
 * a test that does not end. With "woken_reader_dies", the reader that the kernel woke dies as well, before it has woken the other. With
 * "read_only", the first of them may not write the reader table, and so could wake nobody. With "many_topics", they wait for more
 * topics than one call to the kernel takes, and the publisher's is among the first, the last or those between.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "endless_sleeps.h"
#include "frame_topic.h"
#include "base/crash_points.h"
#include "wait/sleep.h"
#include "ports/subscriber.h"

#define NOBODY 65534

struct act {
    const char *name;
    void (*prepare)(void), (*read)(void), (*do_it)(void);
    int writers, readers;
    const char *points[3];
};

struct reader {
    const struct act *act;
    atomic_int ready;
    bool dies, only_looks;
};

/* Readers ----------------------------------------------------------------------------------------------------- */

static struct reader *self;

static void fall_asleep(void) {
    if (self->dies) slr_crash_point_arm("sleep.over", 1);
    endless_sleeps = true;
    atomic_store(&self->ready, 1);
}

static void lose_permission(void) {
    char path[80];
    CHECK(chmod(bus, 0755) == 0);
    snprintf(path, sizeof path, "%s/t.ring", bus);
    CHECK(chmod(path, 0644) == 0);
    snprintf(path, sizeof path, "%s/t.readers", bus);
    CHECK(chmod(path, 0444) == 0);
    if (geteuid() == 0) CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

static void read_message(void) {
    static struct message m;
    if (self->only_looks) lose_permission();
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    fall_asleep();
    CHECK_OK(slipring_subscriber_recv(sub, m.body, sizeof m.body, &m.head, meta, SLIPRING_FOREVER));
    CHECK_EQ(m.head.size, 4);
}

/* The topic is the many_topics's first, one of its middle, or its last. */
#define MANY_TOPICS 100
static const int places[] = {0, 50, MANY_TOPICS - 1};

static void read_one_of_many(int place) {
    static slipring_subscriber *subs[MANY_TOPICS];
    for (int i = 0; i < MANY_TOPICS; i++) {
        char name[12];
        snprintf(name, sizeof name, "t%d", i);
        subs[i] = subscriber(i == place ? "t" : name, SUBSCRIBING(.start = SLIPRING_START_NEW));
    }
    subs[0]->slice_ns = SLR_LONGEST_BOUNDED_SLICE_NS; /* as if we had waited that long already */
    fall_asleep();
    slipring_message m;
    while (slipring_subscriber_peek(subs[place], &m) == SLIPRING_EMPTY)
        CHECK_OK(slipring_wait(subs, MANY_TOPICS, NULL, 0, SLIPRING_FOREVER, 0));
    CHECK_EQ(m.size, 4);
}

static void read_first(void) { read_one_of_many(places[0]); }
static void read_middle(void) { read_one_of_many(places[1]); }
static void read_last(void) { read_one_of_many(places[2]); }

static void prepare_many_topics(void) {
    for (int i = 0; i <= MANY_TOPICS; i++) {
        char name[12] = "t";
        if (i < MANY_TOPICS) snprintf(name, sizeof name, "t%d", i);
        CHECK_OK(slipring_topic_create(bus, name, SETTINGS(.slots = 16, .capacity = 4096), true));
    }
}

static void read_end(void) {
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    int code;
    fall_asleep();
    do code = slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0);
    while (code == SLIPRING_OK && (endless_sleeps = false, true)); /* woken, and looking for the reason */
    CHECK_CODE(code, SLIPRING_TOPIC_GONE);
}

static void read_frame(void) {
    struct reading r = reading("t", READING(.start = SLIPRING_START_NEW));
    slipring_frame frame;
    fall_asleep();
    while (!take_frame(r, &frame)) CHECK_OK(slipring_wait(&r.sub, 1, NULL, 0, SLIPRING_FOREVER, 0));
    CHECK_EQ(read_stamp(&frame), 7);
}

static void read_element(void) {
    slipring_cells_reader *reader;
    slipring_element element;
    CHECK_OK(slipring_cells_reader_open(bus, "t", &reader));
    fall_asleep();
    while (slipring_cells_reader_take_newest(reader, &element) == SLIPRING_EMPTY)
        CHECK_OK(slipring_cells_reader_wait(reader, SLIPRING_FOREVER, 0));
    CHECK_EQ(element.seq, 0);
}

/* Those who die ----------------------------------------------------------------------------------------------- */

static void do_send(void) { send_text(publisher("t", NULL), "text"); }

static void do_send_many(void) {
    slipring_body bodies[] = {{"text", 4}, {"next", 4}, {"last", 4}};
    size_t sent;
    uint64_t seq;
    CHECK_OK(slipring_publisher_try_send_many(publisher("t", NULL), bodies, 3, "", 0, &sent, &seq));
}

static void do_loan(void) {
    slipring_publisher *pub = publisher("t", NULL);
    slipring_claim claim;
    CHECK_OK(slipring_publisher_claim(pub, 4, "", 0, SLIPRING_NOW, &claim));
    CHECK_OK(slipring_publisher_commit(pub, &claim));
}

static int note(void *context, uint64_t seq) {
    (void)context, (void)seq;
    return SLIPRING_OK;
}

static void do_send_precommit(void) {
    uint64_t seq;
    CHECK_OK(slipring_publisher_send_precommit(publisher("t", NULL), "text", 4, "", 0, "s", 1, 0, note, NULL, &seq));
}

static void do_remove(void) { CHECK_OK(slipring_topic_remove(bus, "t")); }

static slipring_stream camera(void) { return stream_of("camera", 64, 4); }

static void prepare_frames(void) {
    slipring_stream stream = camera();
    writing_end(writing("t", &stream, 1));
}

static void do_frame(void) {
    slipring_stream stream = camera();
    send_frame(writing("t", &stream, 1), 0, 7);
}

static void prepare_cells(void) {
    CHECK_OK(slipring_cells_create(bus, "t", &(slipring_cells_settings){.item_size = 4, .depth = 2, .format = ""}, false));
}

static void do_put(void) {
    slipring_cells_writer *writer;
    CHECK_OK(slipring_cells_writer_open(bus, "t", &writer));
    CHECK_OK(slipring_cells_writer_put(writer, "text", 4, NULL));
}

#define WAYS_TO_DIE {"commit.after_word", "send.before_wake", "wake.before_call"}
static const struct act acts[] = {
    {"send, many writers", NULL, read_message, do_send, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
    {"send, one writer", NULL, read_message, do_send, SLIPRING_WRITERS_ONE, 2, WAYS_TO_DIE},
    {"send_many, many writers", NULL, read_message, do_send_many, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
    {"send_many, one writer", NULL, read_message, do_send_many, SLIPRING_WRITERS_ONE, 2, WAYS_TO_DIE},
    {"loan", NULL, read_message, do_loan, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
    {"send_precommit", NULL, read_message, do_send_precommit, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
    {"remove", NULL, read_end, do_remove, SLIPRING_WRITERS_MANY, 2, {"remove.half", "remove.frames_left", "wake.before_call"}},
    {"frame", prepare_frames, read_frame, do_frame, SLIPRING_WRITERS_ONE, 2, WAYS_TO_DIE},
    {"cells", prepare_cells, read_element, do_put, SLIPRING_WRITERS_ONE, 1, {"cells.put.swapped", "wake.before_call"}},
};

static void act(void *argument) {
    self = argument;
    self->act->read();
}

static const struct act many_topics[] = {
    {"first of many topics", prepare_many_topics, read_first, do_send, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
    {"in the middle of many topics", prepare_many_topics, read_middle, do_send, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
    {"last of many topics", prepare_many_topics, read_last, do_send_many, SLIPRING_WRITERS_MANY, 2, WAYS_TO_DIE},
};

struct death {
    const struct act *act;
    const char *point;
};

static void die(void *argument) {
    const struct death *death = argument;
    slr_crash_point_arm(death->point, 1);
    death->act->do_it();
}

static void restore_permission(void) {
    char path[80];
    snprintf(path, sizeof path, "%s/t.readers", bus);
    CHECK(chmod(path, 0600) == 0);
}

static void dies_at(const struct act *what, const char *point, bool woken_reader_dies, bool read_only) {
    struct reader *readers = shared_memory(2 * sizeof *readers);
    pid_t pid[2];
    if (what->prepare)
        what->prepare();
    else
        CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = 16, .capacity = 4096, .writers = what->writers), false));
    for (int i = 0; i < what->readers; i++) { /* the kernel wakes them in the order in which they came */
        readers[i].act = what;
        readers[i].dies = woken_reader_dies && i == 0;
        readers[i].only_looks = read_only && i == 0;
        pid[i] = child_start(act, &readers[i]);
        while (!atomic_load(&readers[i].ready) || !asleep(pid[i])) pause_us(50);
        if (readers[i].only_looks) restore_permission();
    }
    if (!child_killed(child_start(die, &(struct death){what, point}))) FAIL("%s: it did not come to %s", what->name, point);
    if (woken_reader_dies) CHECK(child_killed(pid[0]));
    for (int i = woken_reader_dies; i < what->readers; i++) child_join(pid[i]);
    if (strcmp(what->name, "cells") == 0)
        CHECK_OK(slipring_cells_remove(bus, "t"));
    else if (slipring_topic_remove(bus, "t")) /* what a killed remover has left */
        CHECK(strcmp(what->name, "remove") == 0);
}

static void run(void) {
    bool woken_reader_dies = harness_argument("woken_reader_dies"), read_only = harness_argument("read_only");
    if (harness_argument("many_topics")) {
        for (size_t a = 0; a < sizeof many_topics / sizeof many_topics[0]; a++)
            for (int p = 0; p < 3; p++) dies_at(&many_topics[a], many_topics[a].points[p], false, false);
        return;
    }
    for (size_t a = 0; a < sizeof acts / sizeof acts[0]; a++)
        for (int p = 0; p < 3 && acts[a].points[p]; p++)
            if (read_only ? acts[a].read == read_message : acts[a].readers > woken_reader_dies) dies_at(&acts[a], acts[a].points[p], woken_reader_dies, read_only);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
