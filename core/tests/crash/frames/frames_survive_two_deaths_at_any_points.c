/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 22, "while recovering another": a writer or reader of frames is killed at each point of each role.
 * A second process follows: the next writer, of the same or of other streams, or a reader, a remover or a
 * repairer. It is killed at one of the points that it passes after this first death. The survivors are then
 * judged as after a single death.
 *
 * By default every other second process is tried, at one in ONE_IN of its points. With an argument n, all of
 * them are tried, at one in n points. The test fails if a point named in the sources was never the place of a
 * second death.
 */
#include <stdlib.h>
#include <string.h>

#include "survivors.h"

static const char *const in_sources[] = {
#include "frames-points.h"
};
#define POINTS (sizeof in_sources / sizeof in_sources[0])
#define ONE_IN 7u /* second deaths, if not all */

static struct place { /* a point in the sources, and who passes it as the second one */
    const struct role *role, *second;
    char first[40];
    bool died;
} places[POINTS];
static unsigned pairs, lived, firsts, turn;
static unsigned one_in; /* 0: the usual share */

struct list {
    char names[MAX_POINTS][40];
    int count;
};

static void take_list(struct list *list) {
    list->count = record->count;
    memcpy(list->names, record->names, sizeof list->names);
}

static void forget_points(void) {
    memset(record->names, 0, sizeof record->names);
    memset(record->hits, 0, sizeof record->hits);
    record->count = 0;
}

static bool nothing_to_recover(const struct role *role, const struct role *second) {
    bool clears_up = second == &next_remover || second == &next_repairer;
    return role->topic && !clears_up && !file_exists("t", "ring");
}

static struct place *place_of(const char *point) {
    for (size_t i = 0; i < POINTS; i++)
        if (strcmp(in_sources[i], point) == 0) return &places[i];
    return NULL; /* the topic's */
}

/* Where both died; point NULL: the second one lives, and its points are listed. */
static void run_both(const struct role *role, const char *first, const struct role *second, const char *point) {
    survivors_begin(role);
    bool first_died = victim_run(role, first, 1), second_died = false;
    if (!point) forget_points();
    if (!nothing_to_recover(role, second)) second_died = victim_run(second, point, 1);
    survivors_judge(role);
    if (!point) return;
    struct place *place = place_of(point);
    if (place && second_died) place->died = true;
    pairs += first_died && second_died;
    lived += !(first_died && second_died);
}

static size_t choices(const struct role *role, const struct role **found) {
    size_t count = 0;
    if (role->live_writer) {
        found[count++] = &next_reader;
        return count;
    }
    bool removing = strcmp(role->name, "remove") == 0;
    size_t first = !role->topic ? next_writer_count - 1 : strcmp(role->name, "write other streams") == 0 ? 1 : 0;
    for (size_t i = first; !removing && i < next_writer_count; i++) found[count++] = &next_writers[i];
    if (role->topic && !removing) found[count++] = &next_reader;
    found[count++] = &next_remover;
    found[count++] = &next_repairer;
    return count;
}

static void kill_seconds(const struct role *role, const char *first) {
    const struct role *seconds[8];
    struct list list;
    size_t count = choices(role, seconds);
    for (size_t s = one_in ? 0 : firsts++ % 2; s < count; s += one_in ? 1 : 2) {
        run_both(role, first, seconds[s], NULL);
        take_list(&list);
        for (int p = 0; p < list.count; p++) {
            struct place *place = place_of(list.names[p]);
            if (place) {
                place->role = role, place->second = seconds[s];
                strcpy(place->first, first);
            }
            if (turn++ % (one_in ? one_in : ONE_IN)) continue;
            fprintf(stderr, "%s, killed at %s; the next one %s, killed at %s\n", role->name, first, seconds[s]->name, list.names[p]);
            run_both(role, first, seconds[s], list.names[p]);
        }
    }
}

static void run(void) {
    record = shared_memory(sizeof *record);
    for (size_t r = 0; r < role_count; r++) {
        struct list of_first;
        forget_points();
        survivors_begin(&roles[r]);
        CHECK(!victim_run(&roles[r], NULL, 0));
        survivors_judge(&roles[r]);
        take_list(&of_first);
        for (int p = 0; p < of_first.count; p++) kill_seconds(&roles[r], of_first.names[p]);
    }
    for (size_t i = 0; i < POINTS; i++) {
        struct place *place = &places[i];
        if (place->role && !place->died) run_both(place->role, place->first, place->second, in_sources[i]);
        if (!place->died) FAIL("no second one died at %s", in_sources[i]);
    }
    printf("%u pairs of deaths with frames survived (in %u more, the second did not come to its point)\n", pairs, lived);
}

#define LONG_S 14400

int main(int argc, char **argv) {
    one_in = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (one_in) harness_watchdog_s = LONG_S;
    return harness_main(argc, argv, run);
}
