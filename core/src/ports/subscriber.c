/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a subscriber, and where it starts. Its entry in the reader table gives it wake-ups, holds and statistics,
 * and on a reliable topic the guarantee that nothing is reclaimed before it has passed it. A lossy subscriber can read
 * without an entry, so any number of them may read.
 *
 * A reliable reader first publishes a hold of 0, which stops all reclaiming, fences, and then chooses its start. From that
 * moment nothing at or after oldest can be reclaimed. If the reader dies in between, its lock is released, and with it the hold.
 *
 * Reading starts at new, last, oldest or a given sequence. The number of abandoned sequences below the start is counted, so that
 * later losses are exact (loss.c). If writers reclaim the start during the count, another start is chosen.
 */
#include "ports/subscriber.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ring/loss.h"
#include "topic/peers.h"
#include "wait/futex.h"

#define ATTEMPTS 20 /* an attempt to choose a start fails only if writers reclaimed the chosen sequence */

/* Lock a free entry, or the entry of a dead process. BUSY, without an error text: there is none. */
static int lock_entry(struct slr_segment *s, int *out) {
    for (int dead = 0; dead <= 1; dead++)
        for (uint32_t e = 0; e < s->reader_count; e++) {
            if (slr_kind_is(slr_load_acquire(&s->reader[e].state), SLR_KIND_FREE) == dead) continue;
            if (slr_lock_try(s->readers_fd, slr_segment_reader_offset(e))) {
                *out = (int)e;
                return SLIPRING_OK;
            }
            if (!slr_lock_refused()) return slr_error_errno("cannot lock an entry of the reader table");
        }
    return SLIPRING_BUSY;
}

static void set_kind(struct slr_reader *r, enum slr_kind kind) {
    slr_store_seq_cst(&r->state, slr_kind_next(slr_load_acquire(&r->state), kind));
}

static void own_entry(slipring_subscriber *sub, enum slr_kind kind, uint64_t hold) {
    struct slr_segment *s = sub->s;
    struct slr_reader *r = &s->reader[sub->entry];
    uint32_t needed = (uint32_t)sub->entry + 1, high = slr_load_relaxed(&s->readers->high_reader);
    set_kind(r, SLR_KIND_FREE); /* the hold of the last owner ends before this one begins */
    slr_store_relaxed(&r->received, 0);
    slr_store_relaxed(&r->lost, 0);
    slr_store_relaxed(&r->filtered, 0);
    slr_store_relaxed(&r->position, 0);
    slr_store_relaxed(&r->pid, (uint32_t)getpid());
    slr_store_relaxed(&r->since_ns, slr_clock_realtime_ns());
    slr_store_relaxed(&r->held, 0);
    slr_store_relaxed(&r->pool, 0);
    slr_store_release(&r->hold, hold);
    while (high < needed && !slr_cas32(&s->readers->high_reader, high, needed)) high = slr_load_relaxed(&s->readers->high_reader);
    SLR_CRASH_POINT("subscribe.before_state");
    set_kind(r, kind);
    SLR_CRASH_POINT("subscribe.owned");
    slr_fence_seq_cst(); /* partner: the fence in advance_freed (reclaim.c) */
    sub->self = r;
}

static int take_entry(slipring_subscriber *sub, bool reliable, bool required) {
    if (sub->s->readers_writable) {
        slr_sweep_readers(sub->s);
        slr_sweep_cursors(sub->s);
    }
    int code = sub->s->readers_writable ? lock_entry(sub->s, &sub->entry) : SLIPRING_BUSY;
    if (code == SLIPRING_OK) {
        SLR_CRASH_POINT("subscribe.locked");
        uint64_t hold = reliable && !SLR_DEFECT(reliable_reader_joins_without_hold) ? 0 : SLR_NO_HOLD;
        own_entry(sub, reliable ? SLR_KIND_RELIABLE : SLR_KIND_LOSSY, hold);
    }
    if (code != SLIPRING_BUSY) return code;
    if (!required) return SLIPRING_OK;
    if (!sub->s->readers_writable)
        return slr_error(SLIPRING_DENIED, "lossy", "without write permission on the reader table, only a lossy subscriber "
                         "without a cursor can read: use lossy=True and no cursor=");
    return slr_error(SLIPRING_TOO_MANY_READERS, "max_readers",
                     "the topic already has max_readers=%u live subscribers: use lossy=True, or create it with a larger max_readers=",
                     sub->s->reader_count);
}

static int start_by_cursor(slipring_subscriber *sub, const slipring_subscriber_settings *how) {
    bool is_new;
    uint64_t position = 0;
    int code = slr_cursor_attach(sub, how->cursor, &is_new, &position);
    if (code) return code;
    code = is_new ? slr_start_at(sub, how->start, how->start_seq) : slr_start_at(sub, SLIPRING_START_SEQ, position);
    /* A failed start closes the files, and with them the lock that was taken for a new cursor. */
    if (!code && is_new) slr_cursor_begin(sub, how->cursor, how->expires_ns, sub->position);
    if (code) return code;
    slr_store_release(&sub->self->hold, SLR_NO_HOLD); /* from here on the position of the cursor holds */
    set_kind(sub->self, SLR_KIND_CURSOR);
    return SLIPRING_OK;
}

static int begin(slipring_subscriber *sub, const slipring_subscriber_settings *how) {
    bool topic_reliable = sub->s->delivery == SLR_RELIABLE;
    if (how->lossy == 0 && !topic_reliable)
        return slr_error(SLIPRING_BAD_ARGUMENT, "lossy", "the topic's delivery is \"lossy\": a subscriber with lossy=False "
                         "needs a topic with delivery=\"reliable\"");
    if (how->lossy == 1 && how->cursor && topic_reliable)
        return slr_error(SLIPRING_BAD_ARGUMENT, "lossy", "a cursor on a reliable topic loses no messages: omit lossy=True");
    bool reliable = topic_reliable && how->lossy != 1;
    int code = take_entry(sub, reliable, reliable || how->cursor);
    if (code) return code;
    sub->holds_position = reliable;
    code = how->cursor ? start_by_cursor(sub, how) : slr_start_at(sub, how->start, how->start_seq);
    if (!code) slr_read_show_progress(sub);
    return code;
}

int slipring_subscriber_open(const char *bus, const char *topic, const slipring_subscriber_settings *how,
                             slipring_subscriber **out) {
    slipring_subscriber *sub = calloc(1, sizeof *sub);
    if (!sub) return slr_error_errno("cannot open a subscriber");
    sub->entry = sub->cursor = -1;
    sub->conflate = how->conflate;
    int code = slr_filter_copy(how->filter, &sub->filter);
    if (!code) code = slr_segment_open(bus, topic, SLR_SUBSCRIBE, &sub->s);
    if (!code) code = begin(sub, how);
    if (code)
        slipring_subscriber_close(sub);
    else
        *out = sub;
    return code;
}

void slipring_subscriber_close(slipring_subscriber *sub) {
    struct slr_segment *s = sub->s;
    if (s && s->fork_generation == slr_fork_generation()) {
        if (sub->cursor >= 0) slr_cursor_touch(sub);
        if (sub->self) set_kind(sub->self, SLR_KIND_FREE);
        SLR_CRASH_POINT("unsubscribe.freed");
        if (s->readers_writable) slr_wake_sleepers(&s->readers->space);
    }
    if (s) slr_segment_close(s); /* releases the locks */
    slr_filter_free(sub->filter);
    free(sub);
}

int slipring_subscriber_seek(slipring_subscriber *sub, int start, uint64_t start_seq) {
    int code = slr_read_check(sub);
    if (code) return code;
    bool holds = sub->holds_position && sub->cursor < 0;
    if (holds) {
        slr_store_release(&sub->self->hold, 0); /* as when subscribing */
        slr_fence_seq_cst();
    }
    code = slr_start_at(sub, start, start_seq);
    if (holds) slr_hold_publish(sub);
    if (code) return code;
    if (sub->cursor >= 0 && sub->holds_position) {
        uint64_t committed = slr_load_acquire(&sub->s->cursor[sub->cursor].position);
        if (sub->position < committed) slr_start_at(sub, SLIPRING_START_SEQ, committed);
    }
    slr_read_show_progress(sub);
    return SLIPRING_OK;
}

void slipring_subscriber_counts(slipring_subscriber *sub, slipring_counts *out) {
    uint64_t tail = sub->position;
    if (sub->s->fork_generation == slr_fork_generation()) {
        if (sub->conflate) slr_read_count_skipped(sub, sub->s->slot_count + 1);
        tail = slr_load_acquire(&sub->s->ring->tail);
    }
    *out = (slipring_counts){.received = sub->received,
                             .lost = sub->lost,
                             .filtered = sub->filtered,
                             .position = sub->position,
                             .tail = tail,
                             .entry = sub->entry,
                             .reliable = sub->holds_position};
}

int slipring_subscriber_schema(const slipring_subscriber *sub, void *buffer, size_t room, size_t *size) {
    return slr_segment_schema(sub->s, buffer, room, size);
}

void slipring_subscriber_interrupt(slipring_subscriber *sub) {
    slr_store_seq_cst(&sub->interrupted, 1);
    if (sub->s->readers_writable && sub->s->fork_generation == slr_fork_generation())
        slr_wake_all(&sub->s->readers->wake);
}

void slipring_copy(void *to, const void *shared, size_t size) { slr_copy_out(to, shared, size); }

static uint64_t newest_message(const struct slr_segment *s, uint64_t oldest, uint64_t tail) {
    for (uint64_t seq = tail; seq-- > oldest;) {
        uint64_t word = slr_load_acquire(&slr_slot_of(s, seq)->word);
        if (slr_word_lap(word) == slr_lap(s, seq) && slr_word_state(word) == SLR_READY) return seq;
    }
    return tail;
}

/* Count the abandoned sequences below position; unknown while a claim below is open. False: position was reclaimed. */
static bool count_below(const struct slr_segment *s, uint64_t position, uint64_t *abandoned) {
    *abandoned = SLR_UNKNOWN;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t oldest, count, seq;
        if (!slr_loss_oldest(s, &oldest, &count)) return true;
        if (position - oldest > s->slot_count) return SLR_DEFECT(start_overtaken_is_final);
        for (seq = oldest; seq != position; seq++) {
            uint64_t word = slr_load_acquire(&slr_slot_of(s, seq)->word);
            if (slr_word_lap(word) != slr_lap(s, seq)) break;
            if (slr_word_state(word) == SLR_CLAIMED) return true;
            if (slr_word_state(word) == SLR_GONE) count++;
        }
        if (slr_load_acquire(&s->ring->oldest) != oldest) continue; /* fewer are left to count */
        if (seq == position) *abandoned = count;
        return true;
    }
    return true;
}

/* A single writer stores READY before it moves tail; that message exists already. */
static uint64_t real_tail(const struct slr_segment *s) {
    uint64_t tail = slr_load_acquire(&s->ring->tail);
    uint64_t word = slr_load_acquire(&slr_slot_of(s, tail)->word);
    bool there = slr_word_lap(word) == slr_lap(s, tail) && slr_word_state(word) == SLR_READY;
    return there ? tail + 1 : tail;
}

/* A reclaimer that was active when a cursor was created may have moved oldest past it. Messages from freed on are still held by
 * the cursor. */
static bool held_by_cursor(const slipring_subscriber *sub, uint64_t position, uint64_t tail) {
    const struct slr_segment *s = sub->s;
    return sub->holds_position && sub->cursor >= 0 && position >= slr_load_acquire(&s->ring->freed) && tail - position <= s->slot_count;
}

struct start {
    uint64_t position;
    uint64_t lost;      /* messages between the requested sequence and position */
    uint64_t abandoned; /* sequences below position, or SLR_UNKNOWN */
};

/* Choose a start. False: it was reclaimed in the meantime. */
static bool choose_start(const slipring_subscriber *sub, int start, uint64_t start_seq, uint64_t tail, struct start *out) {
    const struct slr_segment *s = sub->s;
    uint64_t oldest = slr_load_acquire(&s->ring->oldest), position = tail;
    struct slr_loss loss;
    /* For a lossy reader oldest may be outdated immediately; reading notices and counts it. */
    if (tail - oldest > s->slot_count) oldest = tail - s->slot_count;
    if (start == SLIPRING_START_OLDEST && !SLR_DEFECT(oldest_means_new)) position = oldest;
    if (start == SLIPRING_START_LAST && !SLR_DEFECT(last_means_new)) position = newest_message(s, oldest, tail);
    if (start == SLIPRING_START_SEQ) position = start_seq;
    *out = (struct start){.position = position, .abandoned = SLR_UNKNOWN};
    if (position < oldest) {
        if (held_by_cursor(sub, position, tail)) return true;
        if (slr_loss_from(s, position, position ? SLR_UNKNOWN : 0, &loss)) { /* the requested sequence is gone */
            *out = (struct start){loss.oldest, loss.messages, loss.abandoned};
            if (SLR_DEFECT(start_forgets_abandoned)) out->abandoned = SLR_UNKNOWN;
            return true;
        }
    }
    SLR_CRASH_POINT("start.placed");
    return count_below(s, position, &out->abandoned);
}

int slr_start_at(slipring_subscriber *sub, int start, uint64_t start_seq) {
    struct start chosen;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t tail = real_tail(sub->s);
        if (start == SLIPRING_START_SEQ && start_seq > tail)
            return slr_error(SLIPRING_BAD_ARGUMENT, "start",
                             "start=%" PRIu64 " has not been published yet: the next sequence is %" PRIu64, start_seq, tail);
        if (choose_start(sub, start, start_seq, tail, &chosen)) break;
    }
    sub->lost += chosen.lost;
    sub->position = chosen.position;
    sub->abandoned = chosen.abandoned;
    sub->peeked = false;
    sub->counted_to = chosen.position;
    sub->counted_messages = sub->received + sub->filtered;
    if (sub->self) slr_store_relaxed(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}
