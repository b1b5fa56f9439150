/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 9 and invariants 2, 3, 4, 8: every role is killed at every crash point it passes, at several of the times
 * it passes it. Fails, too, if a point named in the sources is passed by no role.
 */
#include <string.h>

#include "survivors.h"

enum { MOST_RUNS = 20 }; /* a role that was kept from running until its deadline does not sleep */

static const char *const in_sources[] = {
#include "points-in-sources.h"
};
static bool reached[sizeof in_sources / sizeof in_sources[0]];

static void mark_reached(const char *name) {
    for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
        if (strcmp(in_sources[i], name) == 0) reached[i] = true;
}

/* False if it lived: how often it waits, or wakes somebody, depends on the others' pace. */
static bool kill_at(const struct role *role, const char *point, int hits) {
    survivors_begin(role);
    bool killed = victim_run(role, 1, point, hits);
    survivors_judge(role);
    return killed;
}

static unsigned kill_everywhere(const struct role *role) {
    struct point points[MAX_POINTS];
    unsigned states = 0;
    survivors_begin(role);
    CHECK(!victim_run(role, 1, NULL, 0)); /* lives to its end, and leaves without closing anything */
    int count = record->point_count;
    memcpy(points, record->points, sizeof points);
    survivors_judge(role);
    for (int p = 0; p < count; p++) {
        int most = points[p].hits, tries[] = {1, 2, 3, most / 2, most}, last = 0;
        mark_reached(points[p].name);
        for (int t = 0; t < 5; t++) {
            if (tries[t] <= last || tries[t] > most) continue;
            fprintf(stderr, "%s, killed at %s (%d of %d)\n", role->name, points[p].name, tries[t], most);
            bool surely = tries[t] == 1 && !strstr(points[p].name, "wake"), killed = false;
            for (int run = 0; !killed && run < (surely ? MOST_RUNS : 1); run++)
                killed = kill_at(role, points[p].name, tries[t]);
            if (surely && !killed) FAIL("it did not come there in %d runs", MOST_RUNS);
            last = tries[t];
            states += killed;
        }
    }
    return states;
}

static void run(void) {
    unsigned states = 0;
    for (size_t r = 0; r < role_count; r++) states += kill_everywhere(&roles[r]);
    printf("%u states of (role, point, hit) survived\n", states);
    for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
        if (!reached[i]) FAIL("no role passes the point %s", in_sources[i]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
