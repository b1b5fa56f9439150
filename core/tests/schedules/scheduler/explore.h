/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULES_EXPLORE_H
#define SCHEDULES_EXPLORE_H

#include "schedules.h"

struct plan {
    double seconds; /* real ones, for everything */
    uint64_t seed, random_runs;
    bool one_bound; /* instead of the scenario's */
    struct bounds bounds;
    const char *replay; /* instead of all that: one run */
};

void explore(const struct scenario *scenario, const struct plan *plan);

#endif
