/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORER_H
#define EXPLORER_H

#include "states.h"

extern const struct subject *subject;

extern struct place { /* where we are, for the report; in memory shared with it */
    const struct setup *setup;
    const struct operation *operation, *recoverer;
    uint32_t race, step, second;
    enum mode mode;
} *at;

extern struct total {
    uint64_t setups, operations, variants, steps, states, judged, pair_steps, pairs, killed;
} total;

_Noreturn void report(const char *what);
void tell_the_way(void); /* the line that leads there again */

/* Lets the survivors continue from a state. The verdict has the messages that they find. */
struct verdict judge(const struct state *state, enum mode mode);
void judge_in_all_ways(const struct state *state, struct known *known);

#endif
