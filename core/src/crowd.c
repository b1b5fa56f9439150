/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel sleeps on at most 128 words in one call (futex_waitv). For more, threads sleep on 127 each and on a common
 * bell; the first to wake rings it, and all come home.
 */
#include "crowd.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "atomics.h"
#include "points.h"
#include "wait.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define POLL_NS 1000000

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static _Atomic uint32_t lacks_waitv;

bool slr_sleeps_on_many(void) { return !slr_peek(&lacks_waitv); }

static int sleep_together(struct slr_word *words, size_t count, int64_t until_ns, size_t *woken) {
    struct timespec limit = timespec_of(until_ns);
    *woken = count;
    if (count == 0) {
        int code = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, NULL);
        return code ? code : ETIMEDOUT;
    }
    if (count == 1) return slr_sleep((_Atomic uint32_t *)(uintptr_t)words[0].address, (uint32_t)words[0].value, until_ns);
    SLR_POINT("sleep");
    long at = syscall(SYS_futex_waitv, words, count, 0, &limit, CLOCK_MONOTONIC);
    if (at >= 0) *woken = (size_t)at;
    if (at >= 0 || errno == EAGAIN) return 0;
    if (errno != ENOSYS && errno != EPERM) return errno;
    slr_poke(&lacks_waitv, 1); /* Linux before 5.16, or a filter of system calls of that age */
    limit = timespec_of(POLL_NS); /* the caller looks again */
    return nanosleep(&limit, NULL) ? EINTR : 0;
}

struct group {
    struct slr_word words[SLR_MOST_WORDS];
    size_t count;
    int64_t until_ns;
    _Atomic uint32_t *bell;
    pthread_t thread;
    bool started;
};

static void ring(_Atomic uint32_t *bell) {
    slr_add32(bell, 1);
    syscall(SYS_futex, bell, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static void *sleep_in_group(void *context) {
    struct group *g = context;
    size_t woken;
    int slept = sleep_together(g->words, g->count, g->until_ns, &woken);
    if (slept != ETIMEDOUT) ring(g->bell);
    return NULL;
}

static void fill(struct group *g, const struct slr_word *words, size_t count, int64_t until_ns, _Atomic uint32_t *bell) {
    memcpy(g->words, words, count * sizeof *words);
    g->words[count] = slr_word_of(bell, 0);
    g->count = count + 1;
    g->until_ns = until_ns;
    g->bell = bell;
}

/* The threads must leave signals to the one that waits. */
static void start(struct group *g) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    g->started = pthread_create(&g->thread, NULL, sleep_in_group, g) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int sleep_in_groups(struct slr_word *words, size_t count, int64_t until_ns) {
    size_t each = SLR_MOST_WORDS - 1, woken, groups = (count + each - 1) / each;
    _Atomic uint32_t bell = 0;
    struct group *g = calloc(groups, sizeof *g);
    if (!g) return ENOMEM;
    int slept = 0;
    for (size_t i = 0; i < groups; i++) {
        size_t from = i * each, size = count - from < each ? count - from : each;
        fill(&g[i], words + from, size, until_ns, &bell);
        if (i == 0) continue;
        start(&g[i]);
        if (!g[i].started) slept = EAGAIN;
    }
    if (slept == 0) slept = sleep_together(g[0].words, g[0].count, until_ns, &woken);
    ring(&bell);
    for (size_t i = 1; i < groups; i++)
        if (g[i].started) pthread_join(g[i].thread, NULL);
    /* More than one ring: somebody else's word changed, even if our own sleep ended with its time. */
    if (slept == ETIMEDOUT && slr_observe(&bell) > 1) slept = 0;
    free(g);
    return slept;
}

int slr_sleep_on(struct slr_word *words, size_t count, int64_t until_ns, size_t *woken) {
    if (count <= SLR_MOST_WORDS) return sleep_together(words, count, until_ns, woken);
    *woken = count;
    return sleep_in_groups(words, count, until_ns);
}
