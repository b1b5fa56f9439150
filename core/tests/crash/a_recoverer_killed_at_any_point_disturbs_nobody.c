/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 9, "while recovering another": a first process is killed at each point of each role; a second one comes,
 * finds what it left, and is killed at one of its own points; then the survivors are judged as ever. For each first
 * death a few second ones are tried ($SLIPRING_TEST_SCALE times 2), going round so that together they cover all.
 */
#include <string.h>

#include "world.h"

struct list {
    struct point points[MAX_POINTS];
    int count;
};
static struct list of_recoverer[8], of_creator;
static unsigned states, lived;

static void list_points(const struct role *role, const struct role *second, struct list *list) {
    world_begin(role);
    if (second) victim_run(role, 1, role->before == BEFORE_NOTHING ? "create.before_ring" : "claim.reserved", 1);
    forget_points();
    victim_run(second ? second : role, second ? 2 : 1, NULL, 0);
    list->count = record->point_count;
    memcpy(list->points, record->points, sizeof list->points);
    world_judge(role);
}

static void kill_both(const struct role *role, const char *first, const struct role *second, const char *point) {
    fprintf(stderr, "%s, killed at %s; the next one %s, killed at %s\n", role->name, first, second->name, point);
    world_begin(role);
    bool killed = victim_run(role, 1, first, 1);
    bool removed = role->before != BEFORE_NOTHING && !file_exists("t", "ring"); /* nothing to recover */
    killed = !removed && victim_run(second, 2, point, 1) && killed;
    world_judge(role);
    states += killed;
    lived += !killed;
}

static void kill_at_each(const struct role *role, unsigned seconds) {
    static unsigned turn;
    struct list firsts;
    list_points(role, NULL, &firsts);
    for (int p = 0; p < firsts.count; p++)
        for (unsigned i = 0; i < seconds; i++, turn++) {
            bool creating = role->before == BEFORE_NOTHING;
            size_t who = turn % recoverer_count;
            const struct list *list = creating ? &of_creator : &of_recoverer[who];
            const struct point *point = &list->points[turn / recoverer_count % (unsigned)list->count];
            kill_both(role, firsts.points[p].name, creating ? &creator : &recoverers[who], point->name);
        }
}

static const struct role *role_named(const char *name) {
    for (size_t r = 0; r < role_count; r++)
        if (strcmp(roles[r].name, name) == 0) return &roles[r];
    FAIL("no role is named %s", name);
}

static void run(void) {
    const struct role *sender = role_named("send and reclaim (lossy, many writers)");
    for (size_t i = 0; i < recoverer_count; i++) list_points(sender, &recoverers[i], &of_recoverer[i]);
    list_points(role_named("create"), &creator, &of_creator);
    for (size_t r = 0; r < role_count; r++) kill_at_each(&roles[r], (unsigned)scaled(2));
    printf("%u pairs of deaths survived (in %u more, the second did not come to its point)\n", states, lived);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
