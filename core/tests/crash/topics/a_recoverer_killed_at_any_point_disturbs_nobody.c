/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 9, "while recovering another": a first process is killed at each point of each role; a second one comes,
 * finds what it left, and is killed at one of its own points; then the survivors are judged as ever.
 *
 * The second one's points are those it passes on that very topic after such a death: lossy or reliable, of one writer or
 * many, created, removed, with a cursor. For each first death a few second ones are tried ($SLIPRING_TEST_SCALE times 2),
 * going round; with a number n as argument, one in n of all there are. Fails if a point named in the sources was the place of no second
 * death.
 */
#include <stdlib.h>
#include <string.h>

#include "survivors.h"

static const char *const in_sources[] = {
#include "points-in-sources.h"
};

struct list {
    struct point points[MAX_POINTS];
    int count;
};

/* Points that second ones passed, and where they died. */
struct place {
    char name[sizeof((struct point *)0)->name];
    const struct role *role, *second;
    char first[sizeof((struct point *)0)->name];
    bool died;
};
static struct place places[MAX_POINTS];
static int place_count;
static unsigned states, lived;

static struct place *place_of(const char *name) {
    int i = 0;
    while (i < place_count && strcmp(places[i].name, name) != 0) i++;
    CHECK(i < MAX_POINTS);
    if (i == place_count) strcpy(places[place_count++].name, name);
    return &places[i];
}

static bool nothing_to_recover(const struct role *role) { return role->before != BEFORE_NOTHING && !file_exists("t", "ring"); }

/* Runs the two roles one after the other. stand_by_and_send runs the first one itself, in a child, after
 * its own attach. True if the second one died. */
static bool run_both(const struct role *role, const char *first, const struct role *second, const char *point, bool *first_died) {
    if (second == &standby) {
        doomed = role, doomed_at = first;
        *first_died = true;
        return victim_run(second, 2, point, 1);
    }
    *first_died = victim_run(role, 1, first, 1);
    if (!point) forget_points();
    return !nothing_to_recover(role) && victim_run(second, 2, point, 1);
}

/* What the second one passes if it lives. */
static void list_seconds(const struct role *role, const char *first, const struct role *second, struct list *list) {
    bool first_died;
    survivors_begin(role);
    run_both(role, first, second, NULL, &first_died);
    list->count = record->point_count;
    memcpy(list->points, record->points, sizeof list->points);
    survivors_judge(role);
    for (int i = 0; i < list->count; i++) {
        struct place *place = place_of(list->points[i].name);
        place->role = role, place->second = second;
        strcpy(place->first, first);
    }
}

static void kill_both(const struct role *role, const char *first, const struct role *second, const char *point) {
    fprintf(stderr, "%s, killed at %s; the next one %s, killed at %s\n", role->name, first, second->name, point);
    bool first_died;
    survivors_begin(role);
    bool second_died = run_both(role, first, second, point, &first_died);
    survivors_judge(role);
    if (second_died) place_of(point)->died = true;
    states += first_died && second_died;
    lived += !(first_died && second_died);
}

static size_t choices(const struct role *role, const struct role **found) {
    size_t count = 0;
    if (role->before == BEFORE_NOTHING) {
        found[count++] = &creator;
        return count;
    }
    for (size_t i = 0; i < recoverer_count; i++) found[count++] = &recoverers[i];
    if (strstr(role->name, "cursor")) found[count++] = &cursor_taker;
    if (role->writers == SLIPRING_WRITERS_MANY) found[count++] = &remover;
    if (role->writers == SLIPRING_WRITERS_MANY && strcmp(role->name, "remove") != 0) found[count++] = &standby;
    return count;
}

static void list_points(const struct role *role, struct list *list) {
    survivors_begin(role);
    victim_run(role, 1, NULL, 0);
    list->count = record->point_count;
    memcpy(list->points, record->points, sizeof list->points);
    survivors_judge(role);
}

static unsigned one_in; /* of all second deaths; 0: a few for each first */

/* Every second one, at the points it passes after this first death. */
static void kill_all_seconds(const struct role *role, const char *first) {
    static unsigned turn;
    const struct role *seconds[16];
    size_t count = choices(role, seconds);
    struct list list;
    for (size_t i = 0; i < count; i++) {
        list_seconds(role, first, seconds[i], &list);
        for (int p = 0; p < list.count; p++)
            if (turn++ % one_in == 0) kill_both(role, first, seconds[i], list.points[p].name);
    }
}

static void kill_some_seconds(const struct role *role, const struct list *firsts, unsigned tries) {
    static unsigned turn;
    static struct list lists[16];
    const struct role *seconds[16];
    size_t count = choices(role, seconds);
    if (firsts->count == 0) return;
    for (size_t i = 0; i < count; i++) list_seconds(role, firsts->points[(unsigned)firsts->count / 2].name, seconds[i], &lists[i]);
    for (int p = 0; p < firsts->count; p++)
        for (unsigned i = 0; i < tries; i++, turn++) {
            size_t who = turn % count;
            if (lists[who].count == 0) continue; /* the first one had removed it */
            const struct point *point = &lists[who].points[turn / count % (unsigned)lists[who].count];
            kill_both(role, firsts->points[p].name, seconds[who], point->name);
        }
}

/* Those that going round has left out. Who wakes whom depends on the others' pace. */
static void kill_where_nobody_died(void) {
    for (int i = 0; i < place_count; i++) {
        struct place *place = &places[i];
        for (int t = 0; t < 3 && !place->died; t++) kill_both(place->role, place->first, place->second, place->name);
    }
    for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
        if (!place_of(in_sources[i])->died && !strstr(in_sources[i], "wake")) FAIL("no second one died at %s", in_sources[i]);
}

static void run(void) {
    for (size_t r = 0; r < role_count; r++) {
        struct list firsts;
        list_points(&roles[r], &firsts);
        if (!one_in) kill_some_seconds(&roles[r], &firsts, (unsigned)scaled(2));
        for (int p = 0; one_in && p < firsts.count; p++) kill_all_seconds(&roles[r], firsts.points[p].name);
    }
    kill_where_nobody_died();
    printf("%u pairs of deaths survived (in %u more, the second did not come to its point), second deaths at %d points\n",
           states, lived, place_count);
}

#define LONG_S 14400

int main(int argc, char **argv) {
    one_in = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (one_in) harness_watchdog_s = LONG_S;
    return harness_main(argc, argv, run);
}
