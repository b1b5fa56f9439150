/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of the real code. The core is compiled with shim.h for its atomics. Roles run as threads of this
 * program, one at a time. Before every access to shared memory and every futex or lock call, a decision names
 * the next thread. memory.h defines what a load may read. A run is the list of its decisions, so it can be
 * repeated exactly:
 *
 *     scheduler.c   threads, points, switches
 *     decisions.c   how decisions are made: all of them up to a bound, at random, or as listed
 *     kernel.c      futexes, clocks, files, and locks.c: the calls of the core that a run must control
 *     memory.c      what loads read; places.c, view.h: of which stores
 *     explore.c     many runs of one scenario, and their results
 *     scenarios/     what is run, and what must hold (ring_setup.c and ring_roles.c of rings)
 */
#ifndef SCHEDULES_H
#define SCHEDULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULES_MOST_THREADS 4
#define SCHEDULES_NOBODY (-1)

/* Scenarios -------------------------------------------------------------------------------------------------- */

struct bounds {
    int preemptions, stale, crashes; /* of one run, when all runs within them are made */
};

struct scenario {
    const char *name;
    void (*setup)(void); /* once: opens handles; everything private and shared is put back to here before each run */
    void (*judge)(void); /* after each run */
    int threads;
    void (*role[SCHEDULES_MOST_THREADS])(void);
    bool may_crash;
    struct bounds all[3]; /* in `make prove`; preemptions < 0: none */
};
extern const struct scenario *const scenarios[];

/* For scenarios. Locks taken during setup belong to that thread. */
void schedules_owner(int thread);
void schedules_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
bool schedules_crashed(int thread);
bool schedules_any_crash(void);
/* The last sleep of this thread ended by its time although it was a long one, and nobody did anything since. */
bool schedules_overslept(void);
/* What came of the run, as far as somebody outside can tell. */
void schedules_outcome(uint64_t word);
extern char schedules_bus[64];
extern char schedules_words[128]; /* how this program was called, as far as a run depends on it */

#define MUST(condition, ...) \
    do { \
        if (!(condition)) schedules_fail(__VA_ARGS__); \
    } while (0)
#define MUST_OK(call) \
    do { \
        int code_ = (call); \
        if (code_) schedules_fail("%s gives %d: %s", #call, code_, slipring_last_error()->message); \
    } while (0)

/* Inside ------------------------------------------------------------------------------------------------------ */

/* scheduler.c */
void schedules_init(void);
bool schedules_run(const struct scenario *scenario); /* one run, by the decisions of decisions.c; false: given up */
void schedules_give_up(void) __attribute__((noreturn)); /* the rest of it was made before */
bool schedules_running(void);                        /* inside a role */
int schedules_self(void);
bool schedules_shared(const volatile void *address); /* memory that a run decides about */
bool schedules_private(const volatile void *address);
/* Before a step; matters: it is worth trying to let somebody else go first. */
void schedules_point(bool matters);
/* What came of it. All that a thread saw and did determines what it will do. */
void schedules_did(uint64_t what);
uint64_t schedules_state(void); /* two equal ones lead to the same */
int schedules_stale(int most);
void schedules_heat_grew(void);
void schedules_broken(const char *what) __attribute__((noreturn)); /* the search itself is at its limits */
/* For kernel.c. A thread queues at one or more addresses (0 being the first), then sleeps until schedules_wake or the time
 * comes, and leaves the queues: the last address at which it was woken, -1 if at none. */
#define SCHEDULES_MOST_QUEUES 3
void schedules_queue(int index, const void *address);
void schedules_sleep(int64_t until_ns, bool is_long);
int schedules_unqueue(void);
int schedules_wake(const void *address, int most);

/* decisions.c */
enum decision { WHO, READ };
struct decider {
    enum { ALL, RANDOM, LISTED } how;
    struct bounds bounds;
    uint64_t seed;
    bool may_crash;
};
void decisions_begin(const struct decider *how);
/* One of `options`, 0 being the usual: who goes on (the last option: the current thread dies), or what is read.
 * free: any costs nothing. matters: others are worth trying. */
int decide(enum decision kind, int options, bool free, bool can_crash, bool matters);
bool decisions_next(void);    /* ALL: is there another run? */
void decisions_restart(void);
bool decisions_heat_grew(void); /* since asked last */
uint64_t decisions_made(void);
uint64_t decisions_states(void); /* distinct, since the restart */
void decisions_list(const char *text);
void decisions_print(void);

/* kernel.c */
void *kernel_memory(size_t size); /* zeroed; of the search, which no run puts back */
void kernel_init(void);
void kernel_keep(void);    /* what setup made */
void kernel_restore(void); /* as it was then */
void kernel_passed_until(int64_t ns);
void kernel_switched(int from, int to); /* each has a robust list of its own */
void kernel_died(int thread);           /* processes its robust list */

/* locks.c */
void locks_init(void);
void locks_keep(void);
void locks_restore(void);
void locks_died(int thread);

#endif
