/* SPDX-License-Identifier: Apache-2.0
 *
 * For each place of shared memory, the oldest of its stores that may still be read.
 */
#ifndef SCHEDULES_VIEW_H
#define SCHEDULES_VIEW_H

#include <stdint.h>
#include <string.h>

#define MOST_PLACES 400

struct view {
    uint16_t count; /* places beyond: 0 */
    uint16_t seen[MOST_PLACES];
};

static inline void view_join(struct view *into, const struct view *from) {
    if (into->count < from->count) {
        memset(into->seen + into->count, 0, (size_t)(from->count - into->count) * sizeof into->seen[0]);
        into->count = from->count;
    }
    for (int i = 0; i < from->count; i++)
        if (into->seen[i] < from->seen[i]) into->seen[i] = from->seen[i];
}

static inline void view_see(struct view *v, int place, uint16_t store) {
    if (v->count <= place) {
        memset(v->seen + v->count, 0, (size_t)(place + 1 - v->count) * sizeof v->seen[0]);
        v->count = (uint16_t)(place + 1);
    }
    if (v->seen[place] < store) v->seen[place] = store;
}

static inline uint16_t view_seen(const struct view *v, int place) { return place < v->count ? v->seen[place] : 0; }

static inline void view_copy(struct view *to, const struct view *from) {
    to->count = from->count;
    memcpy(to->seen, from->seen, from->count * sizeof to->seen[0]);
}

#endif
