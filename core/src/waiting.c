/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for messages on one or many topics: spin briefly, then sleep on the topics' futex words.
 *
 * A sleeper announces itself on every word (sequentially consistent), looks once more, and sleeps; a publisher makes a
 * message readable, fences, and looks for sleepers. So one of the two sees the other.
 *
 * A call sleeps for one slice at most and the caller comes again; slices grow with the time waited, from 5 ms to 1 s.
 * They bound what no wake-up can tell: a publisher killed between its commit and its wake-up, a topic whose file was
 * deleted, a damaged futex word, a signal that came just before we slept. Behind a claim that may turn out abandoned,
 * slices are 1 ms.
 */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fault.h"
#include "points.h"
#include "subscriber.h"
#include "wait.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define MAX_WORDS 128 /* the kernel's limit for futex_waitv */
#define MS INT64_C(1000000)
#define SHORTEST_SLICE (5 * MS)
#define LONGEST_SLICE (1000 * MS)
#define POLL_SLICE MS

struct wait_word { /* struct futex_waitv, which older kernel headers lack */
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define SIZE_U32 2u

struct waiting {
    slipring_subscriber *const *subs;
    size_t count;
    _Atomic uint32_t *bell;
    uint32_t seen_rings;
    bool must_poll; /* behind a claim, more topics than the kernel takes, or no permission to announce oneself */
};

void slipring_bell_ring(slipring_bell *bell) {
    _Atomic uint32_t *rings = (_Atomic uint32_t *)&bell->rings;
    slr_add32(rings, 1);
    syscall(SYS_futex, rings, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static int check(const struct waiting *w, bool files) {
    for (size_t i = 0; i < w->count; i++) {
        int code = slr_read_check(w->subs[i]);
        if (!code && files) code = slr_segment_check_file(w->subs[i]->s);
        if (code) return code;
    }
    return SLIPRING_OK;
}

static bool anything(struct waiting *w) {
    bool found = w->bell && slr_observe(w->bell) != w->seen_rings;
    for (size_t i = 0; i < w->count && !found; i++) {
        bool behind_claim;
        found = slr_read_maybe_ready(w->subs[i], &behind_claim) || slr_peek(&w->subs[i]->interrupted);
        if (behind_claim || !w->subs[i]->s->readers_writable) w->must_poll = true;
    }
    return found;
}

static bool spin(struct waiting *w, int64_t until) {
    do {
        for (int i = 0; i < 16; i++) {
            if (anything(w)) return true;
            slr_pause();
        }
    } while (slr_clock_monotonic_ns() < until);
    return false;
}

/* 0, ETIMEDOUT or EINTR. */
static int sleep_on(struct waiting *w, struct wait_word *words, size_t count, int64_t until) {
    if (count == 1) return slr_sleep((_Atomic uint32_t *)(uintptr_t)words[0].address, (uint32_t)words[0].value, until);
    struct timespec limit = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    if (count == 0 || count > MAX_WORDS) {
        int code = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, NULL);
        return code ? code : ETIMEDOUT;
    }
    if (syscall(SYS_futex_waitv, words, count, 0, &limit, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN) return 0;
    if (errno == ENOSYS) { /* Linux before 5.16: poll */
        w->must_poll = true;
        limit = (struct timespec){.tv_nsec = POLL_SLICE};
        return nanosleep(&limit, NULL) ? EINTR : ETIMEDOUT;
    }
    return errno;
}

static void add_word(struct wait_word *words, size_t *count, _Atomic uint32_t *word, uint32_t value) {
    if (*count < MAX_WORDS)
        words[*count] = (struct wait_word){.value = value, .address = (uint64_t)(uintptr_t)word, .flags = SIZE_U32};
    ++*count;
}

static int sleep_slice(struct waiting *w, int64_t slice, int64_t deadline) {
    struct wait_word words[MAX_WORDS];
    size_t count = 0;
    if (w->bell) add_word(words, &count, w->bell, w->seen_rings);
    for (size_t i = 0; i < w->count; i++) {
        struct slr_segment *s = w->subs[i]->s;
        if (s->readers_writable) add_word(words, &count, &s->readers->wake, slr_sleep_announce(&s->readers->wake));
    }
    w->must_poll = count > MAX_WORDS;
    if (anything(w)) return 0;
    int64_t now = slr_clock_monotonic_ns();
    int64_t until = now + (w->must_poll ? POLL_SLICE : slice);
    return sleep_on(w, words, count, until < deadline ? until : deadline);
}

/* Kept by the first subscriber; reading a message sets it back. */
static int64_t next_slice(const struct waiting *w) {
    if (w->count == 0) return LONGEST_SLICE;
    int64_t slice = w->subs[0]->slice_ns ? w->subs[0]->slice_ns : SHORTEST_SLICE;
    w->subs[0]->slice_ns = slice < LONGEST_SLICE ? slice * 2 : slice;
    return slice;
}

int slipring_wait(slipring_subscriber *const *subs, size_t count, slipring_bell *bell, uint32_t seen_rings,
                  int64_t deadline_ns, int64_t spin_ns) {
    struct waiting w = {
        .subs = subs, .count = count, .bell = bell ? (_Atomic uint32_t *)&bell->rings : NULL, .seen_rings = seen_rings};
    int code = check(&w, false);
    if (code) return code;
    /* A wait that goes on has spun already. */
    bool first = count == 0 || subs[0]->slice_ns == 0;
    int64_t now = slr_clock_monotonic_ns();
    int64_t spin_until = now + spin_ns < deadline_ns ? now + spin_ns : deadline_ns;
    if (first && spin_ns > 0 && spin(&w, spin_until)) return check(&w, false);
    if (slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    int slept = sleep_slice(&w, next_slice(&w), deadline_ns);
    code = check(&w, slept == ETIMEDOUT);
    if (code) return code;
    if (slept == EINTR) return SLIPRING_INTERRUPTED;
    if (slept == 0 || slept == ETIMEDOUT)
        return slept && slr_clock_monotonic_ns() >= deadline_ns ? SLIPRING_TIMEOUT : SLIPRING_OK;
    errno = slept;
    return slr_fault_errno("cannot sleep");
}
