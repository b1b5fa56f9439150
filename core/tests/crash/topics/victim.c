/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/crash_points.h"
#include "survivors.h"

struct log *record;
uint32_t source;

uint32_t next_number(void) {
    CHECK(record->next[source] < NUMBERS);
    return record->next[source]++;
}

/* The word is stored: from here on the message is there for everybody, whatever becomes of us. */
static void note_commit(const char *name) {
    if (strcmp(name, "commit.after_word") == 0) record->committed[source][record->current[source]++] = 1;
}

static void note(const char *name) {
    int i = 0;
    while (i < record->point_count && strcmp(record->points[i].name, name) != 0) i++;
    CHECK(i < MAX_POINTS && strlen(name) < sizeof record->points[i].name);
    if (i == record->point_count) {
        strcpy(record->points[i].name, name);
        record->point_count++;
    }
    record->points[i].hits++;
    note_commit(name);
}

void become(uint32_t as, const char *point) {
    source = as;
    slr_crash_point_watch(note_commit);
    slr_crash_point_arm(point, 1);
}

void forget_points(void) {
    memset(record->points, 0, sizeof record->points);
    record->point_count = 0;
}

struct order {
    const struct role *role;
    uint32_t as;
    const char *point;
    int hits;
};

static void act(void *argument) {
    const struct order *order = argument;
    source = order->as;
    slr_crash_point_watch(note);
    if (order->point) slr_crash_point_arm(order->point, order->hits);
    order->role->act();
    record->done++;
}

bool victim_run(const struct role *role, uint32_t as, const char *point, int hits) {
    struct order order = {role, as, point, hits};
    return child_killed(child_start(act, &order));
}
