/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that run one at a time: contexts of one thread of the system, switched by this program. So a run is
 * as fast as its steps. A thread that dies is not continued, and the next run uses its stack again.
 */
#include "schedules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "memory.h"

#define STACK (256 << 10)
#define MOST_STEPS 20000 /* in one run: more is a run that does not end */

enum state { READY, ASLEEP, ENDED, DEAD };
struct thread {
    ucontext_t context;
    jmp_buf place;
    uint8_t *stack;
    bool begun;
    enum state state;
    const void *queued_at[SCHEDULES_MOST_QUEUES];
    int64_t until_ns;
    bool long_sleep;
    int woken; /* at which of them; -1: at none */
    uint64_t overslept_at; /* steps of others until then, + 1 */
    uint64_t steps;
    uint64_t history; /* of all it saw and did */
};

static struct {
    struct thread thread[SCHEDULES_MOST_THREADS];
    ucontext_t blank;
    jmp_buf home;
    const struct scenario *scenario;
    int current, crashes;
    bool running;
    uint64_t steps;
    void (*role)(void);
} *s;

void schedules_init(void) {
    s = kernel_memory(sizeof *s);
    for (int t = 0; t < SCHEDULES_MOST_THREADS; t++) s->thread[t].stack = kernel_memory(STACK);
    getcontext(&s->blank);
}

bool schedules_running(void) { return s->running; }
int schedules_self(void) { return s->current; }
bool schedules_crashed(int thread) { return thread >= 0 && s->thread[thread].state == DEAD; }
bool schedules_any_crash(void) { return s->crashes > 0; }

static void switch_to(int next) {
    struct thread *from = &s->thread[s->current], *to = &s->thread[next];
    if (from == to && from->begun) return;
    kernel_switched(s->current, next);
    s->current = next;
    if (from->begun && _setjmp(from->place)) return;
    if (to->begun) _longjmp(to->place, 1);
    to->begun = true;
    setcontext(&to->context);
}

/* Those that can go on, the current one first. */
static int ready(int *out) {
    int count = 0, me = s->current;
    if (s->thread[me].state == READY) out[count++] = me;
    for (int t = 0; t < s->scenario->threads; t++)
        if (t != me && s->thread[t].state == READY) out[count++] = t;
    return count;
}

/* Everybody sleeps: the time of the first one comes. False: nobody will ever go on. */
static bool pass_time(void) {
    struct thread *first = NULL;
    for (int t = 0; t < s->scenario->threads; t++) {
        struct thread *x = &s->thread[t];
        if (x->state == ASLEEP && (!first || x->until_ns < first->until_ns)) first = x;
    }
    if (!first) return false;
    if (first->until_ns == INT64_MAX) schedules_fail("everybody sleeps, without a time limit");
    kernel_passed_until(first->until_ns);
    first->state = READY;
    first->overslept_at = first->long_sleep ? s->steps - first->steps + 1 : 0;
    return true;
}

enum { RAN = 1, GIVEN_UP = 2 };
static void go_home(void) { _longjmp(s->home, RAN); }
void schedules_give_up(void) { _longjmp(s->home, GIVEN_UP); }

/* The current thread cannot go on: somebody else does. */
static void leave(void) {
    int who[SCHEDULES_MOST_THREADS], count;
    while ((count = ready(who)) == 0)
        if (!pass_time()) go_home();
    switch_to(who[count > 1 ? decide(WHO, count, true, false, true) : 0]);
}

static void die(void) {
    s->thread[s->current].state = DEAD;
    s->crashes++;
    kernel_died(s->current);
    locks_died(s->current);
    leave();
}

void schedules_point(bool matters) {
    s->thread[s->current].steps++;
    if (++s->steps > MOST_STEPS) schedules_fail("the run does not end");
    int who[SCHEDULES_MOST_THREADS], count = ready(who);
    bool can_crash = s->scenario->may_crash;
    if (count == 1 && !can_crash) return;
    int choice = decide(WHO, count + can_crash, false, can_crash, matters);
    if (choice == count) die();
    if (choice > 0 && choice < count) switch_to(who[choice]);
}

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return z ^ z >> 32;
}

void schedules_did(uint64_t what) {
    struct thread *me = &s->thread[s->current];
    me->history = mix(me->history * 31 + mix(what));
}

/* What others did to it before it goes on. */
static uint64_t queues(const struct thread *t) {
    uint64_t sum = (uint64_t)(t->woken + 1) * 1000000007;
    for (int i = 0; i < SCHEDULES_MOST_QUEUES; i++) sum += t->queued_at[i] ? UINT64_C(100000000003) << i : 0;
    return sum;
}

uint64_t schedules_state(void) {
    uint64_t sum = memory_common_hash() + (uint64_t)s->current;
    for (int t = 0; t < s->scenario->threads; t++)
        sum += mix(s->thread[t].history + (uint64_t)s->thread[t].state * 7 + (uint64_t)t * 1000003 + queues(&s->thread[t]));
    return sum;
}

int schedules_stale(int most) { return most > 0 ? decide(READ, most + 1, false, false, true) : 0; }

void schedules_queue(int index, const void *address) {
    struct thread *me = &s->thread[s->current];
    if (index == 0) me->woken = -1;
    me->queued_at[index] = address;
}

void schedules_sleep(int64_t until_ns, bool is_long) {
    struct thread *me = &s->thread[s->current];
    me->overslept_at = 0;
    if (me->woken >= 0) return;
    me->state = ASLEEP;
    me->until_ns = until_ns;
    me->long_sleep = is_long;
    leave();
}

int schedules_unqueue(void) {
    struct thread *me = &s->thread[s->current];
    for (int i = 0; i < SCHEDULES_MOST_QUEUES; i++) me->queued_at[i] = NULL;
    schedules_did((uint64_t)me->woken);
    return me->woken;
}

/* Who was woken and has not gone on yet stands in its other queues still, as with the kernel: a wake-up may go to it. */
int schedules_wake(const void *address, int most) {
    int woken = 0;
    for (int t = 0; t < s->scenario->threads; t++)
        for (int i = 0; i < SCHEDULES_MOST_QUEUES && woken < most; i++) {
            struct thread *x = &s->thread[t];
            if (x->state == DEAD || x->queued_at[i] != address) continue;
            x->queued_at[i] = NULL;
            if (x->woken < i) x->woken = i;
            x->state = READY;
            woken++;
        }
    return woken;
}

bool schedules_overslept(void) {
    const struct thread *me = &s->thread[s->current];
    return s->running && me->overslept_at == s->steps - me->steps + 1;
}

static void trampoline(void) {
    s->scenario->role[s->current]();
    s->thread[s->current].state = ENDED;
    leave();
}

bool schedules_run(const struct scenario *scenario) {
    s->scenario = scenario;
    s->steps = 0;
    s->crashes = 0;
    for (int t = 0; t < scenario->threads; t++) {
        struct thread *x = &s->thread[t];
        *x = (struct thread){.context = s->blank, .stack = x->stack};
        x->context.uc_stack = (stack_t){.ss_sp = x->stack, .ss_size = STACK};
        makecontext(&x->context, trampoline, 0);
    }
    memory_begin(scenario->threads);
    s->running = true;
    s->current = 0;
    int end = _setjmp(s->home);
    if (end == 0) leave();
    s->running = false;
    return end == RAN;
}

void schedules_fail(const char *format, ...) {
    va_list list;
    printf("FAILED %s: ", s->scenario ? s->scenario->name : "");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    decisions_print();
    fflush(stdout);
    _Exit(1);
}

void schedules_broken(const char *what) {
    printf("BROKEN %s: %s\n", s->scenario ? s->scenario->name : "", what);
    fflush(stdout);
    _Exit(2);
}
