/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging a state, and the report of its place after a failure.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explorer.h"

#define STALL_S 30

const struct subject *subject;
struct place *at;
struct total total;

void report(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

void tell_the_way(void) {
    fprintf(stderr, "to see it again: every_crash_state_of_%s_is_survived 'setup=%s' 'operation=%s' race=%u step=%u",
            subject->name, at->setup->name, at->operation->name, at->race, at->step);
    if (at->recoverer) fprintf(stderr, " 'recoverer=%s' second=%u", at->recoverer->name, at->second);
    fprintf(stderr, " mode=%d\n", (int)at->mode);
}

static void judge_in_a_child(enum mode mode) {
    int status;
    pid_t pid = fork_quietly();
    if (pid == 0) {
        alarm(STALL_S);
        subject->judge(at->setup, mode, at->recoverer != NULL);
        fflush(NULL);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) report(WTERMSIG(status) == SIGALRM ? "the survivors stall" : "a survivor is killed");
    if (status) report("the survivors do not recover");
}

/* Lets the survivors continue from a state. The verdict has the messages that they find. */
struct verdict judge(const struct state *state, enum mode mode) {
    at->mode = mode;
    source = 0;
    state_restore(state);
    memset(verdict, 0, sizeof *verdict);
    if (subject->restore) {
        alarm(STALL_S);
        subject->judge(at->setup, mode, at->recoverer != NULL);
        alarm(0);
        subject->restore();
    } else
        judge_in_a_child(mode);
    total.judged++;
    return *verdict;
}

void judge_in_all_ways(const struct state *state, struct known *known) {
    known->verdict = judge(state, BY_THEMSELVES);
    for (enum mode mode = BY_ATTACH; mode < MODES; mode++) {
        struct verdict again = judge(state, mode);
        if (memcmp(&again, &known->verdict, sizeof again)) report("it depends on who recovers what is there");
    }
}
