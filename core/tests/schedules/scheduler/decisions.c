/* SPDX-License-Identifier: Apache-2.0
 *
 * A depth-first search of all runs within the bounds: a run is repeated up to its last decision with an
 * untried option, and takes that option there. An unusual decision has a cost. A switch away from a thread
 * that could continue is a pre-emption, and a load of a store other than the newest is a stale read. All
 * decisions are numbered, also those without another option within the bounds. So the list of the unusual
 * ones ("57:1,80:2") describes a whole run.
 *
 * Random runs are of two kinds, half of them each. Some have priorities that change at a few places
 * (probabilistic concurrency testing), the others a random choice at each point.
 */
#include "schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 40000
#define STATES (1u << 22)

struct made {
    uint8_t chosen;
    uint8_t options; /* bits: what may be chosen within the bounds */
};

static struct {
    struct decider how;
    struct made made[MOST];
    struct {
        unsigned at, choice;
    } listed[MOST];
    int count, known, listed_count; /* known: ALL: this run begins as the last one */
    int preemptions, stale, crashes;
    uint64_t total, random, states;
    uint64_t state[STATES]; /* ALL: states that were gone on from, and with how many pre-emptions used */
    bool grew;
    /* RANDOM */
    bool priorities;
    int typical; /* length of a run */
    int change[4], crash_at, stale_one_in, switch_one_in, favourite;
} *d;

static uint64_t random_next(void) { /* splitmix64 */
    uint64_t z = (d->random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}
static int below(int limit) { return (int)(random_next() % (uint64_t)limit); }

static void begin_random(void) {
    static const int rare[] = {0, 0, 24, 6};
    d->random = d->how.seed;
    d->priorities = below(2);
    if (d->typical < 16) d->typical = 64;
    for (int i = 0; i < 4; i++) d->change[i] = below(d->typical);
    d->crash_at = d->how.may_crash && below(3) == 0 ? below(d->typical) : -1;
    d->stale_one_in = rare[below(4)];
    d->switch_one_in = 2 + below(8);
    d->favourite = 0;
}

void decisions_begin(const struct decider *how) {
    if (!d) d = kernel_memory(sizeof *d);
    if (d->count > d->typical) d->typical = d->count;
    d->how = *how;
    d->count = d->preemptions = d->stale = d->crashes = 0;
    if (how->how == RANDOM) begin_random();
}

static int at_random(enum decision kind, int options, bool free, bool can_crash) {
    if (kind == READ) return d->stale_one_in && below(d->stale_one_in) == 0 ? below(options) : 0;
    int others = options - can_crash;
    if (can_crash && d->crash_at >= 0 && d->count >= d->crash_at && d->crashes == 0) return others;
    if (others == 1) return 0;
    if (free) return below(others);
    if (!d->priorities) return below(d->switch_one_in) == 0 ? below(others) : 0;
    for (int i = 0; i < 4; i++)
        if (d->change[i] == d->count) return 1 + below(others - 1);
    return 0;
}

static int as_listed(void) {
    for (int i = 0; i < d->listed_count; i++)
        if ((int)d->listed[i].at == d->count) return (int)d->listed[i].choice;
    return 0;
}

/* What of the options the bounds still allow. */
static uint8_t allowed(enum decision kind, int options, bool free, bool can_crash, bool matters) {
    uint8_t all = (uint8_t)((1u << options) - 1), crash = can_crash ? (uint8_t)(1u << (options - 1)) : 0;
    uint8_t switches = (uint8_t)(all & ~crash & ~1u);
    if (free) return all;
    if (kind == READ) return d->stale < d->how.bounds.stale ? all : 1;
    uint8_t result = 1;
    if (matters && d->preemptions < d->how.bounds.preemptions) result |= switches;
    if (matters && d->crashes < d->how.bounds.crashes) result |= crash;
    return result;
}

/* Whether the search already covers all continuations from here, with at least as many pre-emptions left.
 * The histories of the threads determine their states, so two orders of independent steps lead to the same
 * state. */
static bool known_from_here(void) {
    uint64_t key = schedules_state() * 2654435761u + (uint64_t)(d->stale * 16 + d->crashes);
    key = (key ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t name = key & ~UINT64_C(7), used = (uint64_t)d->preemptions & 7;
    for (uint64_t h = key >> 20;; h++) {
        uint64_t *there = &d->state[h % STATES];
        if (*there && (*there & ~UINT64_C(7)) != name) continue;
        if (*there && (*there & 7) <= used) return true;
        if (!*there) {
            if (d->states == STATES / 4 * 3) return false;
            d->states++;
        }
        *there = name | used;
        return false;
    }
}

int decide(enum decision kind, int options, bool free, bool can_crash, bool matters) {
    if (d->count == MOST) schedules_broken("a run has too many decisions");
    struct made *made = &d->made[d->count];
    if (d->how.how == ALL && d->count >= d->known) {
        if (kind == WHO && matters && known_from_here()) schedules_give_up();
        *made = (struct made){.options = allowed(kind, options, free, can_crash, matters)};
    }
    if (d->how.how == RANDOM) made->chosen = (uint8_t)at_random(kind, options, free, can_crash);
    if (d->how.how == LISTED) made->chosen = (uint8_t)as_listed();
    int chosen = made->chosen;
    if (chosen >= options) schedules_broken("a decision of the list does not exist: is it of another scenario or build?");
    d->count++;
    d->total++;
    if (kind == READ) d->stale += chosen > 0;
    if (kind == WHO && can_crash && chosen == options - 1) d->crashes++;
    else if (kind == WHO && !free) d->preemptions += chosen > 0;
    return chosen;
}

bool decisions_next(void) {
    for (int i = d->count; i-- > 0;) {
        uint8_t later = (uint8_t)(d->made[i].options >> (d->made[i].chosen + 1));
        if (!later) continue;
        d->made[i].chosen = (uint8_t)(d->made[i].chosen + 1 + __builtin_ctz(later));
        d->known = i + 1;
        return true;
    }
    return false;
}

void decisions_restart(void) {
    d->known = 0;
    if (d->states) memset(d->state, 0, sizeof d->state);
    d->states = 0;
}
uint64_t decisions_states(void) { return d->states; }
void schedules_heat_grew(void) { d->grew = true; }
bool decisions_heat_grew(void) {
    bool grew = d->grew;
    d->grew = false;
    return grew;
}
uint64_t decisions_made(void) { return d->total; }

void decisions_list(const char *text) {
    d->listed_count = 0;
    for (const char *p = text; *p;) {
        unsigned at, choice;
        int used = 0;
        if (sscanf(p, "%u:%u%n", &at, &choice, &used) != 2) break;
        d->listed[d->listed_count].at = at;
        d->listed[d->listed_count++].choice = choice;
        p += used + (p[used] == ',');
    }
}

void decisions_print(void) {
    const char *before = "";
    printf("replay: schedules %s --replay ", schedules_words);
    for (int i = 0; i < d->count; i++)
        if (d->made[i].chosen) {
            printf("%s%d:%u", before, i, d->made[i].chosen);
            before = ",";
        }
    printf("%s\n", *before ? "" : "0:0");
}
