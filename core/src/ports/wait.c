/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for messages on one or many topics: spin briefly, then sleep (sleep.c).
 *
 * A call sleeps for one slice at most and the caller comes again; slices grow with the time waited (wait.h). They bound
 * what no wake-up can tell: a topic whose file was deleted, a damaged futex word, a signal that came just before we slept.
 * Behind a claim that may turn out abandoned, slices are 1 ms.
 *
 * How a wait sleeps: on the futex words of its topics.
 *
 * A sleeper announces itself on every word (sequentially consistent), looks once more, and sleeps; a publisher makes a
 * message readable, fences, and looks for sleepers. So one of the two sees the other.
 *
 * A publisher that is killed after its message became readable, before it has looked, leaves the wake-up to the kernel
 * (death_wake.h), which wakes one of those asleep on the topic's word `orphan`. No value changes by that, so who has looked and
 * does not sleep yet must notice the message otherwise: we sleep on the word of the slot of our position, too. The kernel
 * takes the words in their order. So either we are at `orphan` when the publisher dies, or the slot's word, looked at
 * after it, has changed. Who was woken there wakes all others, and has made the same will before it slept.
 *
 * Topics whose words are too many for one call are slept on in parts, by a thread each (sleep.h), with wills of their own.
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
#define PIECE MS /* of spinning, in one call */
#define SHORTEST_BACKOFF_NS 200
#define LONGEST_BACKOFF_NS 10000
#define STREAMING_NS 400u /* a message, on average */

/* Topics that one thread sleeps on so that deaths wake it: three words each, beside our bell and that of a crowd. */
#define MAX_COVERED ((SLR_MAX_FUTEX_WORDS - 2) / 3)

struct wait {
    slipring_subscriber *const *subs;
    size_t count;
    _Atomic uint32_t *bell;
    uint32_t seen_rings;
    size_t each;               /* topics that one thread sleeps on */
    bool covered;              /* a publisher's death wakes us */
    bool must_poll;            /* behind a claim, or no permission to announce oneself */
    _Atomic uint32_t publisher_died; /* a publisher's death woke us */
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

/* Whether there is anything to wake up for, while we spin: without the fence, which belongs to announcing oneself (sleep.c),
 * and without a look at tail, whose line the writers want for themselves, unless it is worth it: behind something abandoned. */
static bool has_message(const struct wait *w) {
    bool found = w->bell && slr_load_acquire(w->bell) != w->seen_rings;
    for (size_t i = 0; i < w->count && !found; i++) {
        const slipring_subscriber *sub = w->subs[i];
        uint64_t word;
        enum slr_slot_state state = slr_slot_read_word(sub->s, sub->position, &word);
        found = state == SLR_FOUND || state == SLR_OVERTAKEN || state == SLR_DAMAGED ||
                (state == SLR_ABANDONED && slr_counted(sub->s, sub->position)) || slr_load_relaxed(&sub->interrupted) ||
                slr_load_relaxed(&sub->s->ring->removed);
    }
    return found;
}

/* How long a reader that has caught up keeps away from the slot that comes next. Each look takes the slot's line from the
 * writer, who wants it twice for a message; left alone for a moment, it has several ready, and both go on undisturbed.
 * At first no longer than any answer takes. Twice as long as the last time where messages stream, which a longer absence
 * brings more of; one that brings no more is over with this. A small ring is not to run full meanwhile. */
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

/* The topics that one thread sleeps on. */
struct part {
    slipring_subscriber *const *subs;
    size_t count;
};

static struct part part_of(const struct wait *w, size_t number) {
    size_t from = number * w->each, left = w->count - from;
    return (struct part){.subs = w->subs + from, .count = left < w->each ? left : w->each};
}

/* Announces us; the number of words. In this order: the orphans before the slots, see above, and after the others, since the
 * kernel tells the last at which we were woken. */
static size_t list_words(const struct wait *w, struct part part, struct slr_futex_word *words) {
    size_t count = 0;
    if (w->bell) words[count++] = slr_futex_word_of(w->bell, w->seen_rings);
    for (size_t i = 0; i < part.count; i++) {
        _Atomic uint32_t *wake = &part.subs[i]->s->readers->wake;
        if (part.subs[i]->s->readers_writable) words[count++] = slr_futex_word_of(wake, slr_sleep_announce(wake));
    }
    for (size_t i = 0; w->covered && i < part.count; i++) {
        _Atomic uint32_t *orphan = &part.subs[i]->s->readers->orphan;
        words[count++] = slr_futex_word_of(orphan, slr_load_relaxed(orphan));
    }
    for (size_t i = 0; w->covered && i < part.count; i++) {
        _Atomic uint64_t *slot = &slr_slot_of(part.subs[i]->s, part.subs[i]->position)->word;
        if (SLR_DEFECT(slot_not_slept_on)) continue;
        words[count++] = slr_futex_word_of(slot, (uint32_t)slr_load_relaxed(slot)); /* the lower half: state, writer, part of the lap */
    }
    return count;
}

static void set_death_wake(void *context, size_t number) {
    slr_death_wake_set(&part_of(context, number).subs[0]->s->readers->orphan);
}

/* Woken by the dead, we wake the others; then the will is no longer needed. */
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

static int sleep_covered(struct wait *w, struct slr_futex_word *words, size_t count, int64_t until) {
    struct slr_sleep_hooks hooks = {.before = set_death_wake, .after = wake_after_death, .context = w};
    if (w->each < w->count) return slr_sleep_in_groups(words, count, (w->bell ? 1 : 0) + 3 * w->each, until, &hooks);
    size_t woken;
    set_death_wake(w, 0);
    int slept = slr_sleep_on(words, count, until, &woken);
    wake_after_death(w, 0, woken);
    return slept;
}

static int sleep_uncovered(struct slr_futex_word *words, size_t count, int64_t until) {
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
    if (w->covered && w->each < w->count && until - now < SLR_LONGEST_BOUNDED_SLICE_NS) return EAGAIN; /* not worth threads */
    return w->covered ? sleep_covered(w, words, count, until) : sleep_uncovered(words, count, until);
}

static int sleep_slice(struct wait *w, int64_t slice, int64_t deadline) {
    size_t most = 3 * w->count + (w->each ? w->count / w->each : 0) + 1; /* a bell for each part */
    struct slr_futex_word few[14], *words = most <= sizeof few / sizeof few[0] ? few : calloc(most, sizeof *words);
    if (!words) return ENOMEM;
    int slept = sleep_on(w, words, slice, deadline);
    if (slept == EAGAIN && w->covered) { /* without threads: what a death does not tell us, we look for ourselves */
        w->covered = false;
        w->each = w->count;
        slept = sleep_on(w, words, slice < SLR_LONGEST_BOUNDED_SLICE_NS ? slice : SLR_LONGEST_BOUNDED_SLICE_NS, deadline);
    }
    if (words != few) free(words);
    return slept;
}

/* Wait ------------------------------------------------------------------------------------------------------- */

/* Kept by the first subscriber; reading a message sets it back. Topics beyond what one thread can sleep on so that deaths
 * wake it take more threads, which are worth it once we would wake up by ourselves for ever. */
static int64_t next_slice(struct wait *w) {
    w->each = w->count;
    if (w->count == 0) return SLR_LONGEST_BOUNDED_SLICE_NS; /* nobody to remember how long we have waited */
    int64_t slice = w->subs[0]->slice_ns;
    bool worth_threads = slice >= SLR_LONGEST_BOUNDED_SLICE_NS && !SLR_DEFECT(idle_waits_for_many_wake_up);
    w->covered = slr_sleeps_on_many() && (w->count <= MAX_COVERED || worth_threads);
    /* Who cannot wake others must not take a wake-up by the dead from them; it polls anyway. */
    for (size_t i = 0; i < w->count && w->covered; i++) w->covered = w->subs[i]->s->readers_writable;
    if (w->covered && w->each > MAX_COVERED) w->each = MAX_COVERED;
    bool bounded = !w->covered || SLR_DEFECT(idle_waits_wake_up);
    for (size_t i = 0; i < w->count && !bounded; i++) bounded = slr_load_relaxed(&w->subs[i]->s->readers->mute) != 0;
    return w->subs[0]->slice_ns = slr_slice(slice, bounded);
}

/* Spins, at most for PIECE: then the caller looks, for signals and for claims of the dead, and comes again. How much of it
 * is done, the first subscriber knows by a slice below 0. True: no time to sleep yet. */
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
    /* A wait that sleeps has spun already. */
    bool spins = count == 0 || subs[0]->slice_ns <= 0;
    int64_t now = slr_clock_monotonic_ns();
    if (now >= deadline_ns) return SLIPRING_TIMEOUT; /* whatever keeps arriving that is not for us */
    if (spin_ns > LONGEST_SPIN) spin_ns = LONGEST_SPIN;
    if (spins && spin_piece(&w, now, deadline_ns, spin_ns)) return check(&w, false);
    if (slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    int64_t slice = next_slice(&w);
    int slept = sleep_slice(&w, slice, deadline_ns);
    code = check(&w, slept == ETIMEDOUT || slr_load_relaxed(&w.publisher_died)); /* it may have been about to remove the topic */
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
