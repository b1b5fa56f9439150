/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher that was attached before another process died. It completes the unfinished claim of that
 * process, abandons its open loan, or frees the messages held by a dead reader. (A process that attaches
 * later sweeps first.)
 */
#include "operations.h"

static slipring_publisher *pub, *dying;
static slipring_subscriber *dying_reader;

/* As source 3, in a child of the victim's. */
static void open_dying(void) { dying = publisher("t", NULL); }
static void send_dying(void) { send_message(dying, next_message()); }
static void send_run_dying(void) { send_batch(dying, true, 3); }
static void leave_loan(void) {
    slipring_claim claim;
    CHECK_OK(slipring_publisher_claim(dying, 24, "", 0, SLIPRING_NOW, &claim));
}
static void leave_reader(void) {
    slipring_message held;
    dying_reader = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    int code = slipring_subscriber_hold(dying_reader, &held);
    if (code != SLIPRING_EMPTY) CHECK_OK(code);
}

static void let_die(void (*prepare)(void), void (*act)(void), uint32_t steps) {
    const struct operation last = {"die", prepare, act, NULL, NULL};
    pub = publisher("t", NULL);
    run_operation(&last, 3, 0, steps, NULL);
}

static void send_one(void) { send_message(pub, next_message()); }
static void send_some(void) {
    for (int i = 0; i < 3; i++) send_message(pub, next_message());
}
/* The next one must pass the loan. What is sent until then may be overwritten, as survivors' messages may. */
static void after_a_lender(void) {
    let_die(open_dying, leave_loan, 0);
    source = 0;
    for (int i = 0; i < SLOTS - 3; i++) CHECK_OK(send_message(pub, next_message()));
    source = 1;
}
static void after_a_reader(void) { let_die(NULL, leave_reader, 0); }

#define AFTER(n) \
    static void after_##n(void) { let_die(open_dying, send_dying, n); }
AFTER(1) AFTER(2) AFTER(3) AFTER(4) AFTER(5) AFTER(6) AFTER(7) AFTER(8)
#define AFTER_RUN(n) \
    static void after_run_##n(void) { let_die(open_dying, send_run_dying, n); }
AFTER_RUN(1) AFTER_RUN(2) AFTER_RUN(3) AFTER_RUN(4) AFTER_RUN(5) AFTER_RUN(6) AFTER_RUN(7) AFTER_RUN(8) AFTER_RUN(12)

static bool many_lossy(const struct setup *setup) {
    return setup->writers == SLIPRING_WRITERS_MANY && setup->delivery == SLIPRING_LOSSY && setup->before == ROUND;
}
static bool round_again(const struct setup *setup) { return setup->before == ROUND && setup->writers == SLIPRING_WRITERS_MANY; }
static bool early(const struct setup *setup) {
    return setup->writers == SLIPRING_WRITERS_MANY && setup->before == EMPTY;
}
static bool early_or_round(const struct setup *setup) {
    return setup->writers == SLIPRING_WRITERS_MANY && (setup->before == EMPTY || setup->before == ROUND);
}

#define HELP(n) {"send behind one dead after " #n " steps", after_##n, send_one, early_or_round, NULL}
#define HELP_RUN(n) {"send behind one dead after " #n " steps of a run", after_run_##n, send_one, early, NULL}
const struct operation after_deaths[] = {
    HELP(1), HELP(2), HELP(3), HELP(4), HELP(5), HELP(6), HELP(7), HELP(8),
    HELP_RUN(1), HELP_RUN(2), HELP_RUN(3), HELP_RUN(4), HELP_RUN(5), HELP_RUN(6), HELP_RUN(7), HELP_RUN(8), HELP_RUN(12),
    {"send past the loan of a dead one", after_a_lender, send_some, many_lossy, NULL},
    {"send past a dead reader", after_a_reader, send_some, round_again, NULL},
};
const size_t after_death_count = sizeof after_deaths / sizeof after_deaths[0];
