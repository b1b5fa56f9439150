/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises 9 and 21: each end is killed at every crash point it passes, at several of the times it passes it; then the
 * accounts are judged. Fails, too, if a point named in the sources is passed by no role.
 */
#include "survivors.h"

static bool reached[MAX_POINTS];
static unsigned states;

static void kill_at(const struct role *role, int point, int hits) {
    fprintf(stderr, "depth %u: %s, killed at %s (%d)\n", depth, role->name, points[point], hits);
    survivors_begin(role);
    returning = ends_in_return((size_t)point);
    states += killed(role->act, points[point], hits);
    survivors_judge(role);
}

static void kill_everywhere(const struct role *role) {
    int most[MAX_POINTS];
    survivors_count_hits(role, most);
    for (int p = 0; p < (int)point_count; p++) {
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
    survivors_open();
    for (depth = 1; depth <= 3; depth++)
        for (size_t r = 0; r < role_count; r++) kill_everywhere(&roles[r]);
    printf("%u states of (role, point, hit) with cells survived\n", states);
    for (size_t i = 0; i < point_count; i++)
        if (!reached[i]) FAIL("no role passes the point %s", points[i]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
