/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises 9 and 21, "while recovering another": each end is killed at every crash point it passes; then a second one comes,
 * and is killed at points of its own, of those it passes after that very death (one in some, going round; with a number n as
 * argument, one in n of all there are); then the accounts are judged. Fails, too, if a point named in the sources is the
 * place of no second death.
 */
#include <stdlib.h>
#include <string.h>

#include "survivors.h"

/* The second one does what the first did, or reads, writes or sweeps; the cells may never have been made. */
static size_t seconds_of(const struct role *role, void (**found)(void)) {
    size_t count = 0;
    if (role->exists && role->survivor != READER) found[count++] = read_some;
    if (role->exists && role->survivor != WRITER) found[count++] = write_some;
    if (role->exists && role->survivor == NOBODY) found[count++] = sweep;
    if (role->exists && role->survivor == NOBODY) found[count++] = remove_cells;
    if (role->act != read_some && role->act != write_some && role->act != sweep && role->act != remove_cells) found[count++] = role->act;
    return count;
}

#define ONE_IN 5u /* second deaths, if not all */
static unsigned pairs, turn;
static struct place { /* a point, and who passes it as the second one */
    const struct role *role;
    void (*next)(void);
    size_t first;
    uint32_t depth;
    bool died;
} places[MAX_POINTS];
static unsigned one_in; /* 0: the usual share */

/* False if the first one removed the cells: then there is nothing to recover. second point_count: it lives. */
static bool kill_both(const struct role *role, size_t point, void (*next)(void), size_t second) {
    returning = ends_in_return(point) || (second < point_count && ends_in_return(second));
    survivors_begin(role);
    bool first_died = killed(role->act, points[point], 1), there = !role->exists || file_exists("c", "cells");
    memset(record->hits, 0, sizeof record->hits);
    bool second_died = there && killed(next, second < point_count ? points[second] : NULL, 1);
    if (second_died) places[second].died = true;
    pairs += first_died && second_died;
    return there;
}

static void kill_seconds(const struct role *role, size_t point) {
    void (*next[5])(void);
    int passes[MAX_POINTS];
    size_t count = seconds_of(role, next);
    for (size_t n = 0; n < count; n++) {
        bool there = kill_both(role, point, next[n], point_count);
        memcpy(passes, record->hits, sizeof passes);
        survivors_judge(role);
        for (size_t second = 0; there && second < point_count; second++) {
            if (!passes[second]) continue;
            struct place *place = &places[second];
            place->role = role, place->next = next[n], place->first = point, place->depth = depth;
            if (turn++ % (one_in ? one_in : ONE_IN)) continue;
            kill_both(role, point, next[n], second);
            survivors_judge(role);
        }
    }
}

/* Those that going round has left out. */
static void kill_where_nobody_died(void) {
    for (size_t i = 0; i < point_count; i++) {
        const struct place *place = &places[i];
        if (place->role && !place->died) {
            depth = place->depth;
            kill_both(place->role, place->first, place->next, i);
            survivors_judge(place->role);
        }
        if (!place->died) FAIL("no second one died at %s", points[i]);
    }
}

static void kill_firsts(const struct role *role) {
    int passes[MAX_POINTS];
    survivors_count_hits(role, passes);
    for (size_t point = 0; point < point_count; point++) {
        if (!passes[point]) continue;
        fprintf(stderr, "depth %u: %s, killed at %s\n", depth, role->name, points[point]);
        kill_seconds(role, point);
    }
}

static void run(void) {
    survivors_open();
    for (depth = 1; depth <= (one_in ? 3 : 2); depth++)
        for (size_t r = 0; r < role_count; r++) kill_firsts(&roles[r]);
    kill_where_nobody_died();
    printf("%u pairs of deaths with cells survived\n", pairs);
}

#define LONG_S 14400

int main(int argc, char **argv) {
    one_in = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (one_in) harness_watchdog_s = LONG_S;
    return harness_main(argc, argv, run);
}
