/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on many futex words at once.
 *
 * The kernel sleeps on at most 128 words in one call (futex_waitv). For more words, several threads sleep, each on up to 127
 * words and on a common bell. The first thread to wake up rings the bell, and all threads return.
 */
#include "wait/sleep.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "wait/futex.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define POLL_NS 1000000

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static _Atomic uint32_t lacks_waitv;

bool slr_sleeps_on_many(void) { return !slr_load_relaxed(&lacks_waitv); }

int slr_sleep_on(struct slr_futex_word *words, size_t count, int64_t until_ns, size_t *woken) {
    struct timespec limit = timespec_of(until_ns);
    *woken = count;
    if (count == 0) {
        int code = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, NULL);
        return code ? code : ETIMEDOUT;
    }
    if (count == 1) return slr_sleep((_Atomic uint32_t *)(uintptr_t)words[0].address, (uint32_t)words[0].value, until_ns);
    SLR_CRASH_POINT("sleep");
    long at = syscall(SYS_futex_waitv, words, count, 0, &limit, CLOCK_MONOTONIC);
    if (at >= 0) *woken = (size_t)at;
    if (at >= 0 || errno == EAGAIN) return 0;
    if (errno != ENOSYS && errno != EPERM) return errno;
    slr_store_relaxed(&lacks_waitv, 1); /* Linux before 5.16, or an older filter of system calls */
    limit = timespec_of(POLL_NS); /* then the caller checks again */
    return nanosleep(&limit, NULL) ? EINTR : 0;
}

struct group {
    struct slr_futex_word words[SLR_MAX_FUTEX_WORDS];
    size_t number, count; /* count: words without the bell */
    int64_t until_ns;
    const struct slr_sleep_hooks *hooks;
    _Atomic uint32_t *bell;
    pthread_t thread;
    bool started;
};

static void ring(_Atomic uint32_t *bell) {
    slr_fetch_add32(bell, 1);
    syscall(SYS_futex, bell, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static int sleep_in_group(struct group *g) {
    size_t woken;
    if (g->hooks) g->hooks->before(g->hooks->context, g->number);
    int slept = slr_sleep_on(g->words, g->count + 1, g->until_ns, &woken);
    bool at_one = woken >= 1 && woken <= g->count;
    if (g->hooks) g->hooks->after(g->hooks->context, g->number, at_one ? woken - 1 : g->count);
    return slept;
}

static void *sleep_in_thread(void *context) {
    struct group *g = context;
    if (sleep_in_group(g) != ETIMEDOUT) ring(g->bell);
    return NULL;
}

/* The threads block all signals: the waiting thread handles them. */
static void start(struct group *g) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    g->started = pthread_create(&g->thread, NULL, sleep_in_thread, g) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The bell comes first: the kernel reports the last word that was woken, and the bell matters least. */
static void fill(struct group *g, const struct slr_futex_word *words, size_t count, _Atomic uint32_t *bell) {
    g->words[0] = slr_futex_word_of(bell, 0);
    memcpy(g->words + 1, words, count * sizeof *words);
    g->count = count;
    g->bell = bell;
}

int slr_sleep_in_groups(struct slr_futex_word *words, size_t count, size_t each, int64_t until_ns, const struct slr_sleep_hooks *hooks) {
    size_t groups = (count + each - 1) / each;
    _Atomic uint32_t bell = 0;
    struct group *g = calloc(groups, sizeof *g);
    if (!g) return ENOMEM;
    int slept = 0;
    for (size_t i = 0; i < groups && !slept; i++) {
        size_t from = i * each;
        g[i].number = i;
        g[i].until_ns = until_ns;
        g[i].hooks = hooks;
        fill(&g[i], words + from, count - from < each ? count - from : each, &bell);
        if (i > 0) start(&g[i]);
        if (i > 0 && !g[i].started) slept = SLR_NO_THREAD;
    }
    if (slept == 0) slept = sleep_in_group(&g[0]);
    if (slept == ETIMEDOUT && SLR_DEFECT(timeout_taken_for_wake_up)) slept = 0;
    if (slept == ETIMEDOUT && slr_load_acquire(&bell)) slept = 0; /* a word of another thread has changed; this thread has not rung the bell yet */
    ring(&bell);
    for (size_t i = 1; i < groups; i++)
        if (g[i].started) pthread_join(g[i].thread, NULL);
    free(g);
    return slept;
}
