/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for messages on one or many topics: spin briefly, then sleep (sleep.c).
 *
 * A call sleeps for one slice at most and the caller comes again; slices grow with the time waited (slices.h). They bound
 * what no wake-up can tell: a topic whose file was deleted, a damaged futex word, a signal that came just before we slept.
 * Behind a claim that may turn out abandoned, slices are 1 ms.
 */
#include "waiting.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "crowd.h"
#include "defects.h"
#include "fault.h"
#include "look.h"
#include "slices.h"

#define MS INT64_C(1000000)
#define LONGEST_SPIN (10000 * MS)
#define PIECE MS /* of spinning, in one call */
#define SHORTEST_AWAY_NS 200
#define LONGEST_AWAY_NS 10000
#define STREAMING_NS 400u /* a message, on average */

void slipring_bell_ring(slipring_bell *bell) {
    _Atomic uint32_t *rings = (_Atomic uint32_t *)&bell->rings;
    slr_add32(rings, 1);
    syscall(SYS_futex, rings, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static int check(const struct slr_waiting *w, bool files) {
    for (size_t i = 0; i < w->count; i++) {
        int code = slr_read_check(w->subs[i]);
        if (!code && files) code = slr_segment_check_file(w->subs[i]->s);
        if (code) return code;
    }
    return SLIPRING_OK;
}

/* Whether there is anything to wake up for, while we spin: without the fence, which belongs to announcing oneself (sleep.c),
 * and without a look at tail, whose line the writers want for themselves, unless it is worth it: behind something abandoned. */
static bool glance(const struct slr_waiting *w) {
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
static int64_t keep_away_ns(const struct slr_waiting *w, int64_t now) {
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

static bool spin(const struct slr_waiting *w, int64_t now, int64_t until, bool begins) {
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

/* Kept by the first subscriber; reading a message sets it back. Topics beyond what one thread can sleep on so that deaths
 * wake it take more threads, which are worth it once we would wake up by ourselves for ever. */
static int64_t next_slice(struct slr_waiting *w) {
    w->each = w->count;
    if (w->count == 0) return SLR_LONGEST_BOUNDED_SLICE_NS; /* nobody to remember how long we have waited */
    int64_t slice = w->subs[0]->slice_ns;
    bool worth_threads = slice >= SLR_LONGEST_BOUNDED_SLICE_NS && !SLR_DEFECT(idle_waits_for_many_wake_up);
    w->covered = slr_sleeps_on_many() && (w->count <= SLR_MOST_COVERED || worth_threads);
    /* Who cannot wake others must not take a wake-up by the dead from them; it polls anyway. */
    for (size_t i = 0; i < w->count && w->covered; i++) w->covered = w->subs[i]->s->readers_writable;
    if (w->covered && w->each > SLR_MOST_COVERED) w->each = SLR_MOST_COVERED;
    bool bounded = !w->covered || SLR_DEFECT(idle_waits_wake_up);
    for (size_t i = 0; i < w->count && !bounded; i++) bounded = slr_peek(&w->subs[i]->s->readers->mute) != 0;
    return w->subs[0]->slice_ns = slr_slice(slice, bounded);
}

/* Spins, at most for PIECE: then the caller looks, for signals and for claims of the dead, and comes again. How much of it
 * is done, the first subscriber knows by a slice below 0. True: no time to sleep yet. */
static bool spin_a_piece(struct slr_waiting *w, int64_t now, int64_t deadline, int64_t spin_ns) {
    int64_t spun = w->count ? -w->subs[0]->slice_ns : 0, left = spin_ns - spun, piece = w->count && left > PIECE ? PIECE : left;
    if (left > 0 && spin(w, now, now + piece < deadline ? now + piece : deadline, spun == 0)) return true;
    if (w->count) w->subs[0]->slice_ns = left > piece ? -(spun + piece) : 0;
    return left > piece;
}

int slipring_wait(slipring_subscriber *const *subs, size_t count, slipring_bell *bell, uint32_t seen_rings,
                  int64_t deadline_ns, int64_t spin_ns) {
    struct slr_waiting w = {
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
    int slept = slr_sleep_slice(&w, slice, deadline_ns);
    code = check(&w, slept == ETIMEDOUT || slr_peek(&w.bereaved)); /* it may have been about to remove the topic */
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
