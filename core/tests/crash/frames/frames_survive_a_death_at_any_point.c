/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 22 and invariants 2, 4, 5, 8 for frames: writers and readers killed at every crash point they pass, at several
 * of the times they pass it. Fails, too, if a point named in the sources is passed by no role.
 */
#include <string.h>

#include "survivors.h"

static const char *const in_sources[] = {
#include "frames-points.h"
};
static bool reached[sizeof in_sources / sizeof in_sources[0]];

static bool killed_at(const struct role *role, const char *point, int hits) {
    survivors_begin(role);
    bool killed = victim_run(role, point, hits);
    survivors_judge(role);
    return killed;
}

static unsigned kill_everywhere(const struct role *role) {
    static char names[MAX_POINTS][40];
    int hits[MAX_POINTS], count;
    unsigned states = 0;
    memset(record, 0, sizeof *record);
    CHECK(!killed_at(role, NULL, 0));
    count = record->count;
    memcpy(names, record->names, sizeof names);
    memcpy(hits, record->hits, sizeof hits);
    for (int p = 0; p < count; p++) {
        for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
            if (strcmp(in_sources[i], names[p]) == 0) reached[i] = true;
        for (int hit = 1; hit <= hits[p]; hit += hit < 3 ? 1 : hits[p] / 3 + 1) {
            fprintf(stderr, "%s, killed at %s (%d of %d)\n", role->name, names[p], hit, hits[p]);
            states += killed_at(role, names[p], hit);
        }
    }
    return states;
}

static void run(void) {
    unsigned states = 0;
    record = shared_memory(sizeof *record);
    for (size_t r = 0; r < role_count; r++) states += kill_everywhere(&roles[r]);
    printf("%u states of (role, point, hit) with frames survived\n", states);
    for (size_t i = 0; i < sizeof in_sources / sizeof in_sources[0]; i++)
        if (!reached[i]) FAIL("no role passes the point %s", in_sources[i]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
