/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for messages on one or many topics: spin briefly, then sleep on the topics' futex words.
 *
 * A sleeper announces itself on every word (sequentially consistent), looks once more, and sleeps; a publisher makes a
 * message readable, fences, and looks for sleepers. So one of the two sees the other.
 *
 * A publisher that is killed after its message became readable, before it has looked, leaves the wake-up to the kernel
 * (will.h), which wakes one of those asleep on the topic's word `orphan`. No value changes by that, so who has looked and
 * does not sleep yet must notice the message otherwise: we sleep on the word of the slot of our position, too. The kernel
 * takes the words in their order. So either we are at `orphan` when the publisher dies, or the slot's word, looked at
 * after it, has changed. Who was woken there wakes all others, and has made the same will before it slept.
 *
 * A call sleeps for one slice at most and the caller comes again; slices grow with the time waited (slices.h). They bound
 * what no wake-up can tell: a topic whose file was deleted, a damaged futex word, a signal that came just before we slept.
 * Behind a claim that may turn out abandoned, slices are 1 ms.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "crowd.h"
#include "fault.h"
#include "look.h"
#include "points.h"
#include "slices.h"
#include "wait.h"
#include "will.h"

#define MS INT64_C(1000000)
#define POLL_SLICE MS
#define MOST_COVERED ((SLR_MOST_WORDS - 1) / 3) /* topics, of three words each, and the bell */
#define LONGEST_SPIN (10000 * MS)
#define PIECE MS /* of spinning, in one call */
#define SHORTEST_AWAY_NS 200
#define LONGEST_AWAY_NS 10000
#define STREAMING_NS 400u /* a message, on average */

struct waiting {
    slipring_subscriber *const *subs;
    size_t count;
    _Atomic uint32_t *bell;
    uint32_t seen_rings;
    bool covered;   /* a publisher's death wakes us */
    bool bereaved;  /* it did */
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
        found = slr_read_maybe_ready(w->subs[i], &behind_claim) || slr_peek(&w->subs[i]->interrupted) ||
                slr_peek(&w->subs[i]->s->ring->removed);
        if (behind_claim || !w->subs[i]->s->readers_writable) w->must_poll = true;
    }
    return found;
}

/* The same while we spin: without the fence, which belongs to announcing oneself, and without a look at tail, whose line
 * the writers want for themselves, unless it is worth it: behind something abandoned. */
static bool glance(const struct waiting *w) {
    bool found = w->bell && slr_observe(w->bell) != w->seen_rings;
    for (size_t i = 0; i < w->count && !found; i++) {
        const slipring_subscriber *sub = w->subs[i];
        uint64_t word;
        enum slr_look look = slr_look_at_word(sub->s, sub->position, &word);
        found = look == SLR_FOUND || look == SLR_OVERTAKEN || look == SLR_DAMAGED ||
                (look == SLR_ABANDONED && slr_counted(sub->s, sub->position)) || slr_peek(&sub->interrupted) ||
                slr_peek(&sub->s->ring->removed);
    }
    return found;
}

/* How long a reader that has caught up keeps away from the slot that comes next. Each look takes the slot's line from the
 * writer, who wants it twice for a message; left alone for a moment, it has several ready, and both go on undisturbed.
 * At first no longer than any answer takes. Twice as long as the last time where messages stream, which a longer absence
 * brings more of; one that brings no more is over with this. A small ring is not to run full meanwhile. */
static int64_t keep_away_ns(const struct waiting *w, int64_t now) {
    if (w->count == 0) return 0;
    slipring_subscriber *sub = w->subs[0];
    uint64_t came = sub->position - sub->waited_at;
    bool streams = came > 1 && now - sub->waited_ns < (int64_t)(came * STREAMING_NS);
    bool has_room = came < sub->s->slot_count / 8 && came * sub->peeked_size < sub->s->capacity / 8;
    int64_t away = !streams ? SHORTEST_AWAY_NS : has_room ? sub->away_ns * 2 : sub->away_ns / 2;
    if (away < SHORTEST_AWAY_NS) away = SHORTEST_AWAY_NS;
    sub->waited_at = sub->position;
    sub->waited_ns = now;
    return sub->away_ns = away < LONGEST_AWAY_NS ? away : LONGEST_AWAY_NS;
}

static bool spin(const struct waiting *w, int64_t now, int64_t until, bool begins) {
    int64_t away = begins ? now + keep_away_ns(w, now) : now;
    while (now < away && now < until) {
        slr_pause();
        now = slr_clock_monotonic_ns();
    }
    do {
        for (int i = 0; i < 16; i++) {
            if (glance(w)) return true;
            slr_pause();
        }
    } while (slr_clock_monotonic_ns() < until);
    return false;
}

/* Announces us; the number of words. In this order: the orphans before the slots, see above, and after the others, since the
 * kernel tells the last at which we were woken. */
static size_t list_words(const struct waiting *w, struct slr_word *words, size_t *first_orphan) {
    size_t count = 0;
    if (w->bell) words[count++] = slr_word_of(w->bell, w->seen_rings);
    for (size_t i = 0; i < w->count; i++) {
        _Atomic uint32_t *wake = &w->subs[i]->s->readers->wake;
        if (w->subs[i]->s->readers_writable) words[count++] = slr_word_of(wake, slr_sleep_announce(wake));
    }
    *first_orphan = count;
    for (size_t i = 0; w->covered && i < w->count; i++) {
        _Atomic uint32_t *orphan = &w->subs[i]->s->readers->orphan;
        words[count++] = slr_word_of(orphan, slr_peek(orphan));
    }
    for (size_t i = 0; w->covered && i < w->count; i++) {
        _Atomic uint64_t *slot = &slr_slot_of(w->subs[i]->s, w->subs[i]->position)->word;
        words[count++] = slr_word_of(slot, (uint32_t)slr_peek(slot)); /* the lower half: state, writer, part of the lap */
    }
    return count;
}

static void wake_others(const struct waiting *w) {
    for (size_t i = 0; i < w->count; i++)
        if (w->subs[i]->s->readers_writable) slr_wake_all(&w->subs[i]->s->readers->wake);
}

static int sleep_on(struct waiting *w, struct slr_word *words, int64_t slice, int64_t deadline) {
    size_t first_orphan, woken, count = list_words(w, words, &first_orphan);
    w->must_poll = false;
    if (anything(w)) return 0;
    int64_t until = slr_clock_monotonic_ns() + (w->must_poll ? POLL_SLICE : slice);
    if (w->covered) slr_will_make(&w->subs[0]->s->readers->orphan);
    int slept = slr_sleep_on(words, count, until < deadline ? until : deadline, &woken);
    SLR_POINT("sleep.over");
    w->bereaved = w->covered && slept == 0 && woken >= first_orphan && woken < count;
    if (w->bereaved) wake_others(w);
    if (w->covered) slr_will_revoke();
    return slept;
}

static int sleep_slice(struct waiting *w, int64_t slice, int64_t deadline) {
    struct slr_word few[13], *words = w->count <= 4 ? few : calloc(3 * w->count + 1, sizeof *words);
    if (!words) return ENOMEM;
    int slept = sleep_on(w, words, slice, deadline);
    if (words != few) free(words);
    return slept;
}

/* Kept by the first subscriber; reading a message sets it back. */
static int64_t next_slice(struct waiting *w) {
    if (w->count == 0) return SLR_LONGEST_BOUNDED_SLICE_NS; /* nobody to remember how long we have waited */
    w->covered = w->count <= MOST_COVERED && slr_sleeps_on_many();
    /* Who cannot wake others must not take a wake-up by the dead from them; it polls anyway. */
    for (size_t i = 0; i < w->count && w->covered; i++) w->covered = w->subs[i]->s->readers_writable;
    bool bounded = !w->covered;
    for (size_t i = 0; i < w->count && !bounded; i++) bounded = slr_peek(&w->subs[i]->s->readers->mute) != 0;
    return w->subs[0]->slice_ns = slr_slice(w->subs[0]->slice_ns, bounded);
}

/* Spins, at most for PIECE: then the caller looks, for signals and for claims of the dead, and comes again. How much of it
 * is done, the first subscriber knows by a slice below 0. True: no time to sleep yet. */
static bool spin_a_piece(struct waiting *w, int64_t now, int64_t deadline, int64_t spin_ns) {
    int64_t spun = w->count ? -w->subs[0]->slice_ns : 0, left = spin_ns - spun, piece = w->count && left > PIECE ? PIECE : left;
    if (left > 0 && spin(w, now, now + piece < deadline ? now + piece : deadline, spun == 0)) return true;
    if (w->count) w->subs[0]->slice_ns = left > piece ? -(spun + piece) : 0;
    return left > piece;
}

int slipring_wait(slipring_subscriber *const *subs, size_t count, slipring_bell *bell, uint32_t seen_rings,
                  int64_t deadline_ns, int64_t spin_ns) {
    struct waiting w = {
        .subs = subs, .count = count, .bell = bell ? (_Atomic uint32_t *)&bell->rings : NULL, .seen_rings = seen_rings};
    int code = check(&w, false);
    if (code) return code;
    /* A wait that sleeps has spun already. */
    bool spins = count == 0 || subs[0]->slice_ns <= 0;
    int64_t now = slr_clock_monotonic_ns();
    if (now >= deadline_ns) return SLIPRING_TIMEOUT; /* whatever keeps arriving that is not for us */
    if (spin_ns > LONGEST_SPIN) spin_ns = LONGEST_SPIN;
    if (spins && spin_a_piece(&w, now, deadline_ns, spin_ns)) return check(&w, false);
    if (slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    int64_t slice = next_slice(&w);
    int slept = sleep_slice(&w, slice, deadline_ns);
    code = check(&w, slept == ETIMEDOUT || w.bereaved); /* it may have been about to remove the topic */
    if (code) return code;
    if (slept == EINTR) return SLIPRING_INTERRUPTED;
    if (slept && slept != ETIMEDOUT) {
        errno = slept;
        return slr_fault_errno("cannot sleep");
    }
    if (slept && slr_clock_monotonic_ns() >= deadline_ns) return SLIPRING_TIMEOUT;
    if (count && slept == 0) subs[0]->slice_ns = 0;
    if (count && slept && !w.must_poll) subs[0]->slice_ns = slr_slice_after(slice);
    return SLIPRING_OK;
}
