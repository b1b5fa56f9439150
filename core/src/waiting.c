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
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "crowd.h"
#include "fault.h"
#include "subscriber.h"
#include "wait.h"

#define MS INT64_C(1000000)
#define SHORTEST_SLICE (5 * MS)
#define LONGEST_SLICE (1000 * MS)
#define POLL_SLICE MS
#define LONGEST_SPIN (10000 * MS)

struct waiting {
    slipring_subscriber *const *subs;
    size_t count;
    _Atomic uint32_t *bell;
    uint32_t seen_rings;
    bool must_poll; /* behind a claim, or no permission to announce oneself */
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

static struct slr_word word_of(_Atomic uint32_t *word, uint32_t value) {
    return (struct slr_word){.value = value, .address = (uint64_t)(uintptr_t)word, .flags = SLR_WORD_32};
}

static int sleep_slice(struct waiting *w, int64_t slice, int64_t deadline) {
    struct slr_word few[8], *words = w->count < 8 ? few : calloc(w->count + 1, sizeof *words);
    if (!words) return ENOMEM;
    size_t count = 0;
    if (w->bell) words[count++] = word_of(w->bell, w->seen_rings);
    for (size_t i = 0; i < w->count; i++) {
        struct slr_segment *s = w->subs[i]->s;
        if (s->readers_writable) words[count++] = word_of(&s->readers->wake, slr_sleep_announce(&s->readers->wake));
    }
    w->must_poll = false;
    int slept = 0;
    if (!anything(w)) {
        int64_t until = slr_clock_monotonic_ns() + (w->must_poll ? POLL_SLICE : slice);
        slept = slr_sleep_on(words, count, until < deadline ? until : deadline);
    }
    if (words != few) free(words);
    return slept;
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
    if (now >= deadline_ns) return SLIPRING_TIMEOUT; /* whatever keeps arriving that is not for us */
    if (spin_ns > LONGEST_SPIN) spin_ns = LONGEST_SPIN;
    int64_t spin_until = now + spin_ns < deadline_ns ? now + spin_ns : deadline_ns;
    if (first && spin_ns > 0 && spin(&w, spin_until)) return check(&w, false);
    if (slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    int slept = sleep_slice(&w, next_slice(&w), deadline_ns);
    code = check(&w, slept == ETIMEDOUT);
    if (code) return code;
    if (slept == EINTR) return SLIPRING_INTERRUPTED;
    if (slept == 0 && count) subs[0]->slice_ns = 0;
    if (slept == 0 || slept == ETIMEDOUT)
        return slept && slr_clock_monotonic_ns() >= deadline_ns ? SLIPRING_TIMEOUT : SLIPRING_OK;
    errno = slept;
    return slr_fault_errno("cannot sleep");
}
