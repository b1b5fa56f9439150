/* SPDX-License-Identifier: Apache-2.0
 *
 * Going through all states of a subject, or to one of them:
 *
 *   every_crash_state_of_topics_is_survived [setups=…] [setup=…] [operation=…] [alone=1] [thorough=1]
 *       [race=n step=n [recoverer=… second=n] [mode=n]]
 *
 * setups= those whose names begin so; alone=1 leaves the recoverers out. With a step the death is a real kill. Every
 * failure prints the line that leads to it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explorer.h"

static struct snapshots *firsts, *seconds;
static struct state base, made;

/* What was there stays there; what the first left undone is never seen, whatever the second does. */
static void compare_second(const struct verdict *first, const struct verdict *before, const struct verdict *now) {
    if (now->there[1] != first->there[1] || now->there[3] != first->there[3]) report("recovering changes what is there");
    if (before->there[2] & ~now->there[2]) report("what was there is gone a step later");
}

/* In one of the ways, turn by turn; thorough=1: in all of them. */
static void judge_second(const struct state *state, struct known *known) {
    total.pairs++;
    if (option("thorough"))
        judge_in_all_ways(state, known);
    else
        known->verdict = judge(state, (enum mode)(state->key % MODES));
}

static void recover_from(const struct state *state, const struct verdict *first) {
    for (size_t r = 0; r < subject->recoverer_count; r++) {
        struct verdict before = {0};
        at->recoverer = &subject->recoverers[r];
        if (at->recoverer->fits && !at->recoverer->fits(at->setup)) continue;
        state_restore(state);
        at->second = 0;
        total.pair_steps += run_operation(at->recoverer, 2, 0, 0, seconds);
        for (size_t i = 0; i < snapshots_count(seconds); i++) {
            struct state second = snapshots_state(seconds, i);
            bool is_new;
            struct known *known = known_state(second.key, &is_new);
            at->second = second.step;
            if (is_new) judge_second(&second, known);
            compare_second(first, &before, &known->verdict);
            before = known->verdict;
        }
    }
    at->recoverer = NULL;
}

static void compare_with_a_kill(const struct state *state) {
    state_restore(&base);
    run_operation(at->operation, 1, at->race, state->step, NULL);
    state_read(&made);
    if (made.key != state->key) report("a process killed there leaves another state");
    total.killed++;
}

/* The verdict on the state as such, which is judged in all ways if it was met before as that of a recoverer only. */
static struct known *judge_first(const struct state *state) {
    bool is_new;
    struct known *known = known_state(state->key, &is_new);
    if (known->judged) return known;
    judge_in_all_ways(state, known);
    known->judged = true;
    total.states++;
    return known;
}

static uint32_t explore_variant(uint32_t race) {
    struct verdict before = {0};
    at->race = race;
    at->step = 0;
    state_restore(&base);
    uint32_t count = run_operation(at->operation, 1, race, 0, firsts);
    total.variants++;
    total.steps += count;
    for (size_t i = 0; i < snapshots_count(firsts); i++) {
        struct state state = snapshots_state(firsts, i);
        at->step = state.step;
        struct known *known = judge_first(&state);
        if (before.there[1] & ~known->verdict.there[1]) report("what was there is gone a step later");
        before = known->verdict;
        if (i % 8 == 5 && state.step < count) compare_with_a_kill(&state);
    }
    for (size_t i = 0; !option("alone") && i < snapshots_count(firsts); i++) {
        struct state state = snapshots_state(firsts, i);
        bool is_new;
        struct known *known = known_state(state.key, &is_new);
        at->step = state.step;
        if (!known->recovered) recover_from(&state, &known->verdict);
        known->recovered = true;
    }
    return count;
}

static void nothing(void) {}

/* At step 0 it has only prepared itself. */
static void die_at(const struct operation *operation, uint32_t as, uint32_t race, uint32_t step) {
    struct operation idle = *operation;
    idle.act = nothing;
    run_operation(step ? operation : &idle, as, race, step, NULL);
}

/* By real kills, the way a failure was reported. */
static void see_again(void) {
    at->race = option_number("race");
    at->step = option_number("step");
    at->second = option_number("second");
    state_restore(&base);
    die_at(at->operation, 1, at->race, at->step);
    for (size_t r = 0; option("recoverer") && r < subject->recoverer_count; r++)
        if (asked("recoverer", subject->recoverers[r].name)) at->recoverer = &subject->recoverers[r];
    if (at->recoverer) die_at(at->recoverer, 2, 0, at->second);
    state_read(&made);
    for (enum mode mode = 0; mode < MODES; mode++)
        if (!option("mode") || option_number("mode") == mode) judge(&made, mode);
    printf("survived\n");
}

static void explore_operation(void) {
    if (option("step")) {
        see_again();
        return;
    }
    uint32_t count = explore_variant(0);
    for (uint32_t race = 1; at->operation->race && race < count; race++) explore_variant(race);
}

static void explore_setup(void) {
    memset(journal, 0, sizeof *journal);
    journal->clock_ns = INT64_C(1700000000000000000);
    total.setups++;
    known_forget();
    subject->begin(at->setup);
    images_open(subject->suffixes);
    state_read(&base);
    if (subject->save) subject->save();
    for (size_t o = 0; o < subject->operation_count; o++) {
        at->operation = &subject->operations[o];
        if (at->operation->fits && !at->operation->fits(at->setup)) continue;
        if (!asked("operation", at->operation->name)) continue;
        total.operations++;
        explore_operation();
    }
    state_restore(&base);
    images_close();
    subject->end(at->setup);
}

static void explore_all(void) {
    const char *of = option("setups") ? option("setups") : "";
    step_wakes = journal->wakes;
    step_clock_ns = &journal->clock_ns;
    firsts = snapshots_new();
    seconds = snapshots_new();
    base.bytes = malloc(MOST_BYTES);
    made.bytes = malloc(MOST_BYTES);
    CHECK(base.bytes && made.bytes);
    for (size_t w = 0; w < subject->setup_count; w++) {
        at->setup = &subject->setups[w];
        if (asked("setup", at->setup->name) && !strncmp(at->setup->name, of, strlen(of))) explore_setup();
    }
    if (!total.operations) FAIL("no setup and operation are named so");
    if (option("step")) return;
    printf("%lu states of %s%s%s survived: %lu operations, %lu setups, %lu variants, %lu steps, %lu killed for comparison\n",
           total.states, subject->name, *of ? ", " : "", of, total.operations, total.setups, total.variants, total.steps,
           total.killed);
    printf("%lu pairs of %s%s%s survived: %zu recoverers, %lu steps, %lu judgements in all\n", total.pairs, subject->name,
           *of ? ", " : "", of, subject->recoverer_count, total.pair_steps, total.judged);
}

/* In a child, so that whatever goes wrong there is somebody to tell where. */
void explore(void) {
    int status;
    subject = subject_of_this_program();
    journal = shared_memory(sizeof *journal);
    verdict = shared_memory(sizeof *verdict);
    at = shared_memory(sizeof *at);
    pid_t pid = fork_quietly();
    if (pid == 0) {
        explore_all();
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status && WIFSIGNALED(status))
        fprintf(stderr, WTERMSIG(status) == SIGALRM ? "the survivors stall\n" : "ended by signal %d\n", WTERMSIG(status));
    if (status) tell_the_way();
    exit(status != 0);
}
