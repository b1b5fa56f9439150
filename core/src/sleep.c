/* SPDX-License-Identifier: Apache-2.0
 *
 * How a wait sleeps: on the futex words of its topics.
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
 * Topics whose words are too many for one call are slept on in parts, by a thread each (crowd.h), with wills of their own.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "defects.h"
#include "points.h"
#include "slices.h"
#include "wait.h"
#include "waiting.h"
#include "will.h"

#define POLL_SLICE INT64_C(1000000)

static bool anything(struct slr_waiting *w) {
    bool found = w->bell && slr_observe(w->bell) != w->seen_rings;
    for (size_t i = 0; i < w->count && !found; i++) {
        bool behind_claim;
        found = slr_read_maybe_ready(w->subs[i], &behind_claim) || slr_peek(&w->subs[i]->interrupted) ||
                (!SLR_DEFECT(no_look_for_removal) && slr_peek(&w->subs[i]->s->ring->removed));
        if (behind_claim || !w->subs[i]->s->readers_writable) w->must_poll = true;
    }
    return found;
}

/* The topics that one thread sleeps on. */
struct part {
    slipring_subscriber *const *subs;
    size_t count;
};

static struct part part_of(const struct slr_waiting *w, size_t number) {
    size_t from = number * w->each, left = w->count - from;
    return (struct part){.subs = w->subs + from, .count = left < w->each ? left : w->each};
}

/* Announces us; the number of words. In this order: the orphans before the slots, see above, and after the others, since the
 * kernel tells the last at which we were woken. */
static size_t list_words(const struct slr_waiting *w, struct part part, struct slr_word *words) {
    size_t count = 0;
    if (w->bell) words[count++] = slr_word_of(w->bell, w->seen_rings);
    for (size_t i = 0; i < part.count; i++) {
        _Atomic uint32_t *wake = &part.subs[i]->s->readers->wake;
        if (part.subs[i]->s->readers_writable) words[count++] = slr_word_of(wake, slr_sleep_announce(wake));
    }
    for (size_t i = 0; w->covered && i < part.count; i++) {
        _Atomic uint32_t *orphan = &part.subs[i]->s->readers->orphan;
        words[count++] = slr_word_of(orphan, slr_peek(orphan));
    }
    for (size_t i = 0; w->covered && i < part.count; i++) {
        _Atomic uint64_t *slot = &slr_slot_of(part.subs[i]->s, part.subs[i]->position)->word;
        if (SLR_DEFECT(slot_not_slept_on)) continue;
        words[count++] = slr_word_of(slot, (uint32_t)slr_peek(slot)); /* the lower half: state, writer, part of the lap */
    }
    return count;
}

static void make_will(void *context, size_t number) {
    slr_will_make(&part_of(context, number).subs[0]->s->readers->orphan);
}

/* Woken by the dead, we wake the others; then the will is no longer needed. */
static void wake_for_the_dead(void *context, size_t number, size_t woken) {
    struct slr_waiting *w = context;
    struct part part = part_of(w, number);
    size_t first_orphan = (w->bell ? 1 : 0) + part.count;
    SLR_POINT("sleep.over");
    if (woken >= first_orphan && woken < first_orphan + 2 * part.count) {
        slr_poke(&w->bereaved, 1);
        for (size_t i = 0; i < part.count; i++) slr_wake_all(&part.subs[i]->s->readers->wake);
    }
    slr_will_revoke();
}

static int sleep_covered(struct slr_waiting *w, struct slr_word *words, size_t count, int64_t until) {
    struct slr_around around = {.before = make_will, .after = wake_for_the_dead, .context = w};
    if (w->each < w->count) return slr_sleep_in_groups(words, count, (w->bell ? 1 : 0) + 3 * w->each, until, &around);
    size_t woken;
    make_will(w, 0);
    int slept = slr_sleep_on(words, count, until, &woken);
    wake_for_the_dead(w, 0, woken);
    return slept;
}

static int sleep_uncovered(struct slr_word *words, size_t count, int64_t until) {
    size_t woken;
    int slept = count > SLR_MOST_WORDS ? slr_sleep_in_groups(words, count, SLR_MOST_WORDS - 1, until, NULL)
                                       : slr_sleep_on(words, count, until, &woken);
    SLR_POINT("sleep.over");
    return slept;
}

static int sleep_on(struct slr_waiting *w, struct slr_word *words, int64_t slice, int64_t deadline) {
    size_t count = 0, number = 0;
    do count += list_words(w, part_of(w, number), words + count);
    while (++number * w->each < w->count);
    w->must_poll = false;
    if (!SLR_DEFECT(no_look_before_sleep) && anything(w)) return 0;
    int64_t now = slr_clock_monotonic_ns(), until = now + (w->must_poll ? POLL_SLICE : slice);
    if (SLR_DEFECT(waiting_polls) && !w->must_poll) until = now;
    if (until > deadline) until = deadline;
    if (w->covered && w->each < w->count && until - now < SLR_LONGEST_BOUNDED_SLICE_NS) return EAGAIN; /* not worth threads */
    return w->covered ? sleep_covered(w, words, count, until) : sleep_uncovered(words, count, until);
}

int slr_sleep_slice(struct slr_waiting *w, int64_t slice, int64_t deadline) {
    size_t most = 3 * w->count + (w->each ? w->count / w->each : 0) + 1; /* a bell for each part */
    struct slr_word few[14], *words = most <= sizeof few / sizeof few[0] ? few : calloc(most, sizeof *words);
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
