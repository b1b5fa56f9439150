/* SPDX-License-Identifier: Apache-2.0
 *
 * Many runs of one scenario. First a few hundred at random, by which is learnt which places are shared at all (only
 * there it matters who goes on); then all runs within each of the scenario's bounds; then runs at random.
 */
#include "explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory.h"

#define LEARNING 400
#define OUTCOMES (1u << 18)

static struct {
    uint64_t outcome, runs, ended, outcomes; /* ended: not given up because the rest had been tried */
    uint64_t seen[OUTCOMES];
} *e;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
static double seconds_now(void) {
    struct timespec now;
    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void schedules_outcome(uint64_t word) { e->outcome = (e->outcome ^ word) * UINT64_C(0x100000001b3); }

static void remember_outcome(void) {
    uint64_t key = e->outcome ? e->outcome : 1;
    for (unsigned h = (unsigned)(key % OUTCOMES); e->outcomes < OUTCOMES / 2; h = (h + 1) % OUTCOMES) {
        if (e->seen[h] == key) return;
        if (e->seen[h]) continue;
        e->seen[h] = key;
        e->outcomes++;
        return;
    }
}

static void run_once(const struct scenario *scenario, const struct decider *how) {
    decisions_begin(how);
    e->outcome = UINT64_C(0xcbf29ce484222325);
    if (schedules_run(scenario)) {
        scenario->judge();
        remember_outcome();
        e->ended++;
    }
    memory_end();
    kernel_restore();
    e->runs++;
}

static void run_random(const struct scenario *scenario, uint64_t seed, bool may_crash) {
    run_once(scenario, &(struct decider){.how = RANDOM, .seed = seed, .may_crash = may_crash});
}

static void report(const char *what, uint64_t runs, uint64_t decisions, double since, const char *end) {
    printf("%s: %" PRIu64 " schedules, %" PRIu64 " decisions, %" PRIu64 " outcomes so far, %.1f s%s\n", what, runs, decisions,
           e->outcomes, seconds_now() - since, end);
    fflush(stdout);
}

static void explore_all(const struct scenario *scenario, struct bounds bounds, double until) {
    struct decider how = {.how = ALL, .bounds = bounds};
    char what[160];
    double since = seconds_now();
    uint64_t runs, decisions;
    bool more = true;
    do { /* again, should a place turn out to be shared that was not known to be */
        decisions_heat_grew();
        decisions_restart();
        runs = e->runs;
        decisions = decisions_made();
        do {
            run_once(scenario, &how);
            more = decisions_next();
        } while (more && seconds_now() < until);
    } while (decisions_heat_grew() && seconds_now() < until);
    snprintf(what, sizeof what, "%s: all within %d pre-emptions, %d stale reads, %d deaths", scenario->name,
             bounds.preemptions, bounds.stale, bounds.crashes);
    char end[96];
    snprintf(end, sizeof end, ", %" PRIu64 " states, %s", decisions_states(), more ? "NOT COMPLETE" : "complete");
    report(what, e->runs - runs, decisions_made() - decisions, since, end);
}

static void explore_random(const struct scenario *scenario, const struct plan *plan, double until) {
    double since = seconds_now();
    char what[160];
    uint64_t runs = e->runs, decisions = decisions_made(), seed = plan->seed;
    while (e->runs - runs < plan->random_runs && seconds_now() < until) run_random(scenario, seed++, scenario->may_crash);
    snprintf(what, sizeof what, "%s: at random from seed %" PRIu64, scenario->name, plan->seed);
    report(what, e->runs - runs, decisions_made() - decisions, since, "");
}

void explore(const struct scenario *scenario, const struct plan *plan) {
    double until = seconds_now() + plan->seconds;
    e = kernel_memory(sizeof *e);
    decisions_begin(&(struct decider){.how = LISTED});
    scenario->setup();
    kernel_keep();
    if (plan->replay) {
        decisions_list(plan->replay);
        run_once(scenario, &(struct decider){.how = LISTED});
        printf("%s: kept\n", scenario->name);
        return;
    }
    for (uint64_t i = 0; i < LEARNING; i++) run_random(scenario, plan->seed + i, scenario->may_crash);
    if (plan->one_bound)
        explore_all(scenario, plan->bounds, until);
    else
        for (int i = 0; i < 3 && scenario->all[i].preemptions; i++) explore_all(scenario, scenario->all[i], until);
    explore_random(scenario, plan, until);
}
