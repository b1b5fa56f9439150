/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for messages on one or many topics: spin briefly, then sleep (wait/sleep.c).
 *
 * A call sleeps for at most one slice, and the caller calls again. Slices grow with the time waited (wait/sleep.h). They limit the
 * delay of events without a wake-up: a topic whose file was deleted, a damaged futex word, a signal that arrived just before
 * the sleep. Behind a claim that may turn out abandoned, slices are 1 ms.
 *
 * A wait sleeps on the futex words of its topics. A sleeper announces itself on every word (sequentially consistent), checks once
 * more, and sleeps. A publisher makes a message readable, fences, and checks for sleepers. So one of the two sees the other.
 *
 * A publisher that is killed after its message became readable and before it has checked leaves the wake-up to the kernel
 * (wait/death_wake.h), which wakes one sleeper on the word `death_wake` of the topic. That changes no value, so a waiter that has
 * checked and does not sleep yet must notice the message in another way: it also sleeps on the word of the slot of its
 * position. The kernel takes the words in their order. So either the waiter is queued at `death_wake` when the publisher dies, or the
 * slot's word, which the kernel reads after that, has changed. The woken waiter wakes all others. It has set the same death
 * wake before it slept.
 *
 * If topics have more words than one call takes, several threads sleep on a part of them each (wait/sleep.h), with death wakes of
 * their own.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ports/read.h"
#include "wait/death_wake.h"
#include "wait/futex.h"
#include "wait/sleep.h"

#define MS INT64_C(1000000)
#define POLL_SLICE MS
#define LONGEST_SPIN (10000 * MS)
#define PIECE MS /* longest spin in one call */
#define SHORTEST_BACKOFF_NS 200
#define LONGEST_BACKOFF_NS 10000
#define STREAMING_NS 400u /* average time of a message in a stream */

/* Topics on which one thread can sleep so that the death of a publisher wakes it: three words each, beside the bells of the wait
 * and of the groups. */
#define MAX_WITH_DEATH_WAKE ((SLR_MAX_FUTEX_WORDS - 2) / 3)

/* A result of sleep_on beside the errors: the slice is not worth the threads that a death wake needs. */
#define TOO_SHORT_FOR_THREADS (-1)

struct wait {
    slipring_subscriber *const *subs;
    size_t count;
    _Atomic uint32_t *bell;
    uint32_t seen_rings;
    size_t each;               /* topics on which one thread sleeps */
    bool death_wakes_us;       /* the kernel wakes this wait when a publisher dies */
    bool must_poll;            /* behind a claim, or without permission to announce a sleeper */
    _Atomic uint32_t publisher_died; /* the death of a publisher has woken this wait */
};

void slipring_bell_ring(slipring_bell *bell) {
    _Atomic uint32_t *rings = (_Atomic uint32_t *)&bell->rings;
    slr_fetch_add32(rings, 1);
    syscall(SYS_futex, rings, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static int check(const struct wait *w, bool files) {
    for (size_t i = 0; i < w->count; i++) {
        int code = slr_read_check(w->subs[i]);
        if (!code && files) code = slr_segment_check_file(w->subs[i]->s);
        if (code) return code;
    }
    return SLIPRING_OK;
}

/* Return whether the wait can end, during spinning. Without the fence, which belongs to the announcement of a sleeper. Without a
 * load of tail, whose cache line the writers need, except behind an abandoned slot. */
static bool has_message(const struct wait *w) {
    bool found = w->bell && slr_load_acquire(w->bell) != w->seen_rings;
    for (size_t i = 0; i < w->count && !found; i++) {
        const slipring_subscriber *sub = w->subs[i];
        uint64_t word;
        enum slr_finding finding = slr_slot_read_word(sub->s, sub->position, &word);
        found = finding == SLR_FOUND || finding == SLR_OVERTAKEN || finding == SLR_DAMAGED ||
                (finding == SLR_ABANDONED && slr_counted(sub->s, sub->position)) || slr_load_relaxed(&sub->interrupted) ||
                slr_load_relaxed(&sub->s->ring->removed);
    }
    return found;
}

/* Return how long a reader that has caught up stays away from the next slot. Each load takes the cache line of the slot from
 * the writer, which needs it twice for a message. Undisturbed for a moment, the writer completes several messages. The first
 * backoff is no longer than the time of a reply. In a stream of messages each backoff is twice the last one; when messages
 * stop streaming it is short again. A small ring must not fill up in that time. */
static int64_t backoff_ns(const struct wait *w, int64_t now) {
    if (w->count == 0) return 0;
    slipring_subscriber *sub = w->subs[0];
    uint64_t came = sub->position - sub->waited_at;
    bool streams = came > 1 && now - sub->waited_ns < (int64_t)(came * STREAMING_NS);
    bool has_room = came < sub->s->slot_count / 8 && came * sub->peeked_size < sub->s->capacity / 8;
    int64_t backoff = !streams ? SHORTEST_BACKOFF_NS : has_room ? sub->backoff_ns * 2 : sub->backoff_ns / 2;
    if (backoff < SHORTEST_BACKOFF_NS) backoff = SHORTEST_BACKOFF_NS;
    sub->waited_at = sub->position;
    sub->waited_ns = now;
    return sub->backoff_ns = backoff < LONGEST_BACKOFF_NS ? backoff : LONGEST_BACKOFF_NS;
}

static bool spin(const struct wait *w, int64_t now, int64_t until, bool begins) {
    int64_t backoff = begins ? now + backoff_ns(w, now) : now;
    while (now < backoff && now < until) {
        slr_pause();
        now = slr_clock_monotonic_ns();
    }
    do {
        for (int i = 0; i < 16; i++) {
            if (has_message(w)) return true;
            slr_pause();
        }
    } while (slr_clock_monotonic_ns() < until);
    return false;
}

/* Sleep ------------------------------------------------------------------------------------------------------ */

static bool has_reason_to_wake(struct wait *w) {
    bool found = w->bell && slr_load_acquire(w->bell) != w->seen_rings;
    for (size_t i = 0; i < w->count && !found; i++) {
        bool behind_claim;
        found = slr_read_may_have_message(w->subs[i], &behind_claim) || slr_load_relaxed(&w->subs[i]->interrupted) ||
                (!SLR_DEFECT(removal_not_checked) && slr_load_relaxed(&w->subs[i]->s->ring->removed));
        if (behind_claim || !w->subs[i]->s->readers_writable) w->must_poll = true;
    }
    return found;
}

/* The topics on which one thread sleeps. */
struct part {
    slipring_subscriber *const *subs;
    size_t count;
};

static struct part part_of(const struct wait *w, size_t number) {
    size_t from = number * w->each, left = w->count - from;
    return (struct part){.subs = w->subs + from, .count = left < w->each ? left : w->each};
}

/* Announce the sleeper and list the words; return their number. The orphans come before the slots, see above, and after the other
 * words, because the kernel reports the last word that was woken. */
static size_t list_words(const struct wait *w, struct part part, struct slr_futex_word *words) {
    size_t count = 0;
    if (w->bell) words[count++] = slr_futex_word_of(w->bell, w->seen_rings);
    for (size_t i = 0; i < part.count; i++) {
        _Atomic uint32_t *wake = &part.subs[i]->s->readers->wake;
        if (part.subs[i]->s->readers_writable) words[count++] = slr_futex_word_of(wake, slr_sleep_announce(wake));
    }
    for (size_t i = 0; w->death_wakes_us && i < part.count; i++) {
        _Atomic uint32_t *death_wake = &part.subs[i]->s->readers->death_wake;
        words[count++] = slr_futex_word_of(death_wake, slr_load_relaxed(death_wake));
    }
    for (size_t i = 0; w->death_wakes_us && i < part.count; i++) {
        _Atomic uint64_t *slot = &slr_slot_of(part.subs[i]->s, part.subs[i]->position)->word;
        if (SLR_DEFECT(slot_not_slept_on)) continue;
        words[count++] = slr_futex_word_of(slot, (uint32_t)slr_load_relaxed(slot)); /* the lower half: state, writer, part of the lap */
    }
    return count;
}

static void set_death_wake(void *context, size_t number) {
    slr_death_wake_set(&part_of(context, number).subs[0]->s->readers->death_wake);
}

/* After the death of a publisher wake the other sleepers; then the death wake is no longer needed. */
static void wake_after_death(void *context, size_t number, size_t woken) {
    struct wait *w = context;
    struct part part = part_of(w, number);
    size_t first_orphan = (w->bell ? 1 : 0) + part.count;
    SLR_CRASH_POINT("sleep.over");
    if (woken >= first_orphan && woken < first_orphan + 2 * part.count) {
        slr_store_relaxed(&w->publisher_died, 1);
        for (size_t i = 0; i < part.count; i++) slr_wake_all(&part.subs[i]->s->readers->wake);
    }
    slr_death_wake_clear();
}

static int sleep_with_death_wake(struct wait *w, struct slr_futex_word *words, size_t count, int64_t until) {
    struct slr_sleep_hooks hooks = {.before = set_death_wake, .after = wake_after_death, .context = w};
    if (w->each < w->count) return slr_sleep_in_groups(words, count, (w->bell ? 1 : 0) + 3 * w->each, until, &hooks);
    size_t woken;
    set_death_wake(w, 0);
    int slept = slr_sleep_on(words, count, until, &woken);
    wake_after_death(w, 0, woken);
    return slept;
}

static int sleep_without_death_wake(struct slr_futex_word *words, size_t count, int64_t until) {
    size_t woken;
    int slept = count > SLR_MAX_FUTEX_WORDS ? slr_sleep_in_groups(words, count, SLR_MAX_FUTEX_WORDS - 1, until, NULL)
                                       : slr_sleep_on(words, count, until, &woken);
    SLR_CRASH_POINT("sleep.over");
    return slept;
}

static int sleep_on(struct wait *w, struct slr_futex_word *words, int64_t slice, int64_t deadline) {
    size_t count = 0, number = 0;
    do count += list_words(w, part_of(w, number), words + count);
    while (++number * w->each < w->count);
    w->must_poll = false;
    if (!SLR_DEFECT(no_check_before_sleep) && has_reason_to_wake(w)) return 0;
    int64_t now = slr_clock_monotonic_ns(), until = now + (w->must_poll ? POLL_SLICE : slice);
    if (SLR_DEFECT(waiting_polls) && !w->must_poll) until = now;
    if (until > deadline) until = deadline;
    if (w->death_wakes_us && w->each < w->count && until - now < SLR_LONGEST_BOUNDED_SLICE_NS) return TOO_SHORT_FOR_THREADS;
    return w->death_wakes_us ? sleep_with_death_wake(w, words, count, until) : sleep_without_death_wake(words, count, until);
}

static int sleep_slice(struct wait *w, int64_t slice, int64_t deadline) {
    size_t most = 3 * w->count + (w->each ? w->count / w->each : 0) + 1; /* a bell for each part */
    struct slr_futex_word few[14], *words = most <= sizeof few / sizeof few[0] ? few : calloc(most, sizeof *words);
    if (!words) return ENOMEM;
    int slept = sleep_on(w, words, slice, deadline);
    if (slept == TOO_SHORT_FOR_THREADS || (slept == SLR_NO_THREAD && w->death_wakes_us)) {
        /* Without threads the death of a publisher wakes nobody, so check at the end of bounded slices. */
        w->death_wakes_us = false;
        w->each = w->count;
        slept = sleep_on(w, words, slice < SLR_LONGEST_BOUNDED_SLICE_NS ? slice : SLR_LONGEST_BOUNDED_SLICE_NS, deadline);
    }
    if (words != few) free(words);
    return slept;
}

/* Wait ------------------------------------------------------------------------------------------------------- */

/* Return the next slice. The first subscriber stores it, and reading a message resets it. More topics than MAX_WITH_DEATH_WAKE
 * need threads, which are worth their cost once the wait has reached the longest bounded slice. */
static int64_t next_slice(struct wait *w) {
    w->each = w->count;
    if (w->count == 0) return SLR_LONGEST_BOUNDED_SLICE_NS; /* no subscriber can store the time waited */
    int64_t slice = w->subs[0]->slice_ns;
    bool worth_threads = slice >= SLR_LONGEST_BOUNDED_SLICE_NS && !SLR_DEFECT(idle_waits_for_many_wake_up);
    w->death_wakes_us = slr_sleeps_on_many() && (w->count <= MAX_WITH_DEATH_WAKE || worth_threads);
    /* A waiter that cannot wake others must not take the wake-up after a death from them; it polls anyway. */
    for (size_t i = 0; i < w->count && w->death_wakes_us; i++) w->death_wakes_us = w->subs[i]->s->readers_writable;
    if (w->death_wakes_us && w->each > MAX_WITH_DEATH_WAKE) w->each = MAX_WITH_DEATH_WAKE;
    bool bounded = !w->death_wakes_us || SLR_DEFECT(idle_waits_wake_up);
    for (size_t i = 0; i < w->count && !bounded; i++) bounded = slr_load_relaxed(&w->subs[i]->s->readers->cannot_wake) != 0;
    return w->subs[0]->slice_ns = slr_slice(slice, bounded);
}

/* Spin for at most PIECE. Then the caller checks for signals and for claims of dead processes, and calls again. The first
 * subscriber stores the time spun as a negative slice. True: not yet time to sleep. */
static bool spin_piece(struct wait *w, int64_t now, int64_t deadline, int64_t spin_ns) {
    int64_t spun = w->count ? -w->subs[0]->slice_ns : 0, left = spin_ns - spun, piece = w->count && left > PIECE ? PIECE : left;
    if (left > 0 && spin(w, now, now + piece < deadline ? now + piece : deadline, spun == 0)) return true;
    if (w->count) w->subs[0]->slice_ns = left > piece ? -(spun + piece) : 0;
    return left > piece;
}

int slipring_wait(slipring_subscriber *const *subs, size_t count, slipring_bell *bell, uint32_t seen_rings,
                  int64_t deadline_ns, int64_t spin_ns) {
    struct wait w = {
        .subs = subs, .count = count, .bell = bell ? (_Atomic uint32_t *)&bell->rings : NULL, .seen_rings = seen_rings};
    int code = check(&w, false);
    if (code) return code;
    /* A wait that has slept does not spin again. */
    bool spins = count == 0 || subs[0]->slice_ns <= 0;
    int64_t now = slr_clock_monotonic_ns();
    if (now >= deadline_ns) return SLIPRING_TIMEOUT; /* even if filtered messages keep arriving */
    if (spin_ns > LONGEST_SPIN) spin_ns = LONGEST_SPIN;
    if (spins && spin_piece(&w, now, deadline_ns, spin_ns)) return check(&w, false);
    if (slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    int64_t slice = next_slice(&w);
    int slept = sleep_slice(&w, slice, deadline_ns);
    code = check(&w, slept == ETIMEDOUT || slr_load_relaxed(&w.publisher_died)); /* the dead process may have been removing the topic */
    if (code) return code;
    if (slept == EINTR) return SLIPRING_INTERRUPTED;
    if (slept && slept != ETIMEDOUT) {
        errno = slept;
        return slr_error_errno("cannot sleep");
    }
    if (slept && slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    if (count && slept == 0) subs[0]->slice_ns = 0;
    if (count && slept && !w.must_poll) subs[0]->slice_ns = slr_slice_after(slice);
    return SLIPRING_OK;
}
