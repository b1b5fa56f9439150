/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises 9 and 21: each end is killed at every crash point it passes, at several of the times it passes it; then a second
 * one comes, and is killed at each of its own points; then the accounts are judged. The element with sequence s is stamped
 * s. Fails, too, if a point named in the sources is passed by no role.
 *
 * Roles that race do so with themselves: at a point of the one end, the other end of the same process acts.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "points.h"
#include "stamped.h"

static const char *const in_sources[] = {
#include "cells-points-in-sources.h"
};
#define POINTS (sizeof in_sources / sizeof in_sources[0])

static struct {
    int hits[POINTS];   /* of the victim's run that is not killed */
    uint64_t committed; /* puts whose swap was done */
    uint64_t delivered; /* every sequence below was returned by a take, or passed over */
    uint64_t returned;  /* elements, by takes */
} *record;
static bool reached[POINTS];
static uint32_t depth;

static void (*at_race)(void); /* what the other end does, once for each act of the first */
static const char *race_point;
static slipring_cells_writer *writer;
static slipring_cells_reader *reader;

static void note(const char *name) {
    for (size_t i = 0; i < POINTS; i++)
        if (strcmp(in_sources[i], name) == 0) record->hits[i]++;
    if (strcmp(name, "cells.put.swapped") == 0) record->committed++;
    if (race_point && strcmp(name, race_point) == 0) {
        race_point = NULL;
        at_race();
    }
}

static void put_next(void) { CHECK_EQ(put_stamped(writer, record->committed), record->committed - 1); }

static void judge_delivered(const slipring_element *element) {
    CHECK(element->seq >= record->delivered && element->seq < record->committed);
    CHECK_EQ(stamp_of(reader, element), element->seq);
    record->delivered = element->seq + 1;
    record->returned++;
}

static size_t take_some(void) {
    const slipring_element *elements;
    size_t count;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
    for (size_t i = 0; i < count; i++) judge_delivered(&elements[i]);
    return count;
}

static void take_all(void) { take_some(); }

static void take_newest(void) {
    slipring_element element;
    int code = slipring_cells_reader_take_newest(reader, &element);
    if (code != SLIPRING_EMPTY) CHECK_OK(code);
    if (!code) judge_delivered(&element);
}

/* Roles ------------------------------------------------------------------------------------------------------- */

static void write_some(void) {
    writer = cells_writer("c");
    for (uint32_t i = 0; i < 2 * depth + 1; i++) put_next();
    slipring_cells_writer_close(writer);
}

static void read_some(void) {
    reader = cells_reader("c");
    take_all();
    take_newest();
    slipring_cells_reader_close(reader);
}

static void write_under_takes(void) {
    writer = cells_writer("c");
    reader = cells_reader("c");
    at_race = take_all;
    for (uint32_t i = 0; i < 2 * depth + 1; i++) {
        race_point = "cells.put.before_swap"; /* after the look at the word: the swap fails, once */
        put_next();
    }
}

static void lap(void) {
    for (uint32_t i = 0; i < depth + 1; i++) put_next();
}

static void read_under_puts(void) {
    writer = cells_writer("c");
    reader = cells_reader("c");
    at_race = lap;
    for (int i = 0; i < 4; i++) {
        put_next();
        race_point = i % 2 ? NULL : "cells.take.before";
        bool raced = race_point;
        size_t count = i < 2 ? take_some() : 0;
        if (i < 2 && raced) CHECK_EQ(count, depth); /* the writer went round: all slots have something new */
        if (i >= 2) take_newest();
    }
}

static void write_for_a_sleeper(void) {
    writer = cells_writer("c");
    reader = cells_reader("c");
    take_all();
    CHECK_CODE(slipring_cells_reader_wait(reader, slipring_deadline(0.0001), 0), SLIPRING_TIMEOUT);
    put_next(); /* wakes */
    take_newest();
}

static void create(void) { make_cells("c", depth); }
static void remove_cells(void) {
    int code = slipring_cells_remove(bus, "c");
    if (code != SLIPRING_NOT_FOUND) CHECK_OK(code);
}
static void leave_both_ends(void *ignored) {
    (void)ignored;
    slr_point_arm(NULL, 0);
    writer = cells_writer("c");
    reader = cells_reader("c");
    kill(getpid(), SIGKILL);
}
static void sweep(void) {
    uint32_t swept;
    CHECK(child_killed(child_start(leave_both_ends, NULL)));
    CHECK_OK(slipring_cells_sweep(bus, "c", &swept));
    CHECK_EQ(swept, 2);
}

/* Who lives on: holds elements, or goes on writing. */
enum survivor { NOBODY, READER, WRITER };
struct role {
    const char *name;
    void (*act)(void);
    enum survivor survivor;
    bool exists; /* the cells, before */
};
static const struct role roles[] = {
    {"write", write_some, NOBODY, true},
    {"write for a live reader", write_some, READER, true},
    {"write under takes", write_under_takes, NOBODY, true},
    {"read", read_some, NOBODY, true},
    {"read from a live writer", read_some, WRITER, true},
    {"read under puts", read_under_puts, NOBODY, true},
    {"wake a sleeper", write_for_a_sleeper, NOBODY, true},
    {"sweep", sweep, NOBODY, true},
    {"create", create, NOBODY, false},
    {"remove", remove_cells, NOBODY, true},
};
#define ROLES (sizeof roles / sizeof roles[0])

/* The world --------------------------------------------------------------------------------------------------- */

struct order {
    void (*act)(void);
    const char *point;
    int hits;
};

static void act(void *argument) {
    const struct order *order = argument;
    writer = NULL;
    reader = NULL;
    slr_point_watch(note);
    if (order->point) slr_point_arm(order->point, order->hits);
    order->act();
}

static bool killed(void (*what)(void), const char *point, int hits) {
    struct order order = {what, point, hits};
    return child_killed(child_start(act, &order));
}

static slipring_element held[8]; /* by the reader that lives on */
static size_t held_count;

static void hold(void) {
    const slipring_element *elements;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &held_count));
    memcpy(held, elements, held_count * sizeof *held);
    record->delivered = record->committed;
    record->returned += held_count;
}

static void held_are_unchanged(void) {
    for (size_t i = 0; i < held_count; i++) CHECK_EQ(stamp_of(reader, &held[i]), held[i].seq);
}

/* Laps behind it; the newest element is not taken, the others are. */
static void begin(const struct role *role) {
    memset(record, 0, sizeof *record);
    held_count = 0;
    if (!role->exists) return;
    create();
    writer = cells_writer("c");
    reader = cells_reader("c");
    for (uint32_t i = 0; i < 3 * depth; i++) put_next();
    hold();
    put_next();
    if (role->survivor != WRITER) slipring_cells_writer_close(writer);
    if (role->survivor != READER) {
        slipring_cells_reader_close(reader);
        held_count = 0;
    }
}

static void attach(enum survivor survivor) {
    if (!file_exists("c", "cells")) {
        record->committed = record->delivered = record->returned = 0;
        create();
    }
    cells_info("c"); /* verifies */
    if (survivor != READER) reader = cells_reader("c");
    if (survivor != WRITER) writer = cells_writer("c");
}

static bool returning; /* somebody was killed between the accounts and its return */

static void judge(const struct role *role) {
    attach(role->survivor);
    if (role->survivor == READER) held_are_unchanged();
    for (uint32_t i = 0; i < 3 * depth + 1; i++) put_next();
    if (role->survivor == READER) held_are_unchanged();
    take_all();
    CHECK_EQ(record->delivered, record->committed);
    slipring_cells_info info = cells_info("c");
    CHECK_EQ(info.position, record->committed);
    CHECK_EQ(info.puts, record->committed);
    CHECK(info.received >= record->returned && info.received - record->returned <= (returning ? 2 * depth : 0));
    CHECK_EQ(info.received + info.lost + info.skipped, info.position);
    put_next();
    take_newest();
    CHECK_EQ(record->delivered, record->committed);
    slipring_cells_writer_close(writer);
    slipring_cells_reader_close(reader);
    info = cells_info("c");
    CHECK(info.writer_pid == 0 && info.reader_pid == 0 && !info.writer_alive && !info.reader_alive);
    CHECK_OK(slipring_cells_remove(bus, "c"));
}

/* The second one does what the first did, or reads, or writes; the cells may be gone, or never made. */
static void (*second_of(const struct role *role, int point))(void) {
    if (!role->exists) return create;
    if (role->survivor == READER) return write_some;
    if (role->survivor == WRITER) return read_some;
    void (*const seconds[])(void) = {role->act, write_some, read_some, sweep};
    return seconds[point % 4];
}

static unsigned states, pairs;

static void kill_at(const struct role *role, int point, int hits) {
    fprintf(stderr, "depth %u: %s, killed at %s (%d)\n", depth, role->name, in_sources[point], hits);
    begin(role);
    bool accounted = strcmp(in_sources[point], "cells.take.accounted") == 0;
    returning = accounted;
    states += killed(role->act, in_sources[point], hits);
    judge(role);
    for (size_t second = 0; second < POINTS && hits == 1 && depth < 3; second++) {
        returning = accounted || strcmp(in_sources[second], "cells.take.accounted") == 0;
        begin(role);
        bool first = killed(role->act, in_sources[point], hits);
        if (role->exists && !file_exists("c", "cells")) second = POINTS; /* removed: nothing to recover */
        else if (killed(second_of(role, (int)second), in_sources[second], 1) && first) pairs++;
        judge(role);
    }
}

static void kill_everywhere(const struct role *role) {
    int most[POINTS];
    begin(role);
    memset(record->hits, 0, sizeof record->hits);
    CHECK(!killed(role->act, NULL, 0)); /* lives to its end */
    memcpy(most, record->hits, sizeof most);
    judge(role);
    for (int p = 0; p < (int)POINTS; p++) {
        int tries[] = {1, 2, most[p] / 2, most[p]}, last = 0;
        reached[p] = reached[p] || most[p];
        for (int t = 0; t < 4; t++) {
            if (tries[t] <= last || tries[t] > most[p]) continue;
            kill_at(role, p, tries[t]);
            last = tries[t];
        }
    }
}

static void run(void) {
    record = shared_memory(sizeof *record);
    slr_point_watch(note);
    for (depth = 1; depth <= 3; depth++)
        for (size_t r = 0; r < ROLES; r++) kill_everywhere(&roles[r]);
    printf("%u states of (role, point, hit) survived\n%u pairs of deaths survived\n", states, pairs);
    for (size_t i = 0; i < POINTS; i++)
        if (!reached[i]) FAIL("no role passes the point %s", in_sources[i]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
