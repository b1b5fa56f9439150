/* SPDX-License-Identifier: Apache-2.0
 *
 * A subscriber's life. Its entry in the reader table gives it wake-ups, holds and statistics, and, on a reliable topic,
 * the right that nothing is reclaimed before it passed it. A lossy subscriber can do without: any number may read.
 *
 * A reliable reader first publishes a hold of 0, which stops all reclaiming, fences, and only then chooses its place:
 * from that moment nothing at or after oldest can be taken from under it. If it dies while choosing, its lock goes,
 * and with it the hold.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "copy.h"
#include "defects.h"
#include "fault.h"
#include "peers.h"
#include "points.h"
#include "subscriber.h"
#include "wait.h"

/* BUSY, without words: there is none. */
static int lock_entry(struct slr_segment *s, int *out) {
    for (int dead = 0; dead <= 1; dead++)
        for (uint32_t e = 0; e < s->reader_count; e++) {
            if (slr_kind_is(slr_observe(&s->reader[e].state), SLR_KIND_FREE) == dead) continue;
            if (slr_lock_try(s->readers_fd, slr_segment_reader_offset(e))) {
                *out = (int)e;
                return SLIPRING_OK;
            }
            if (!slr_lock_refused()) return slr_fault_errno("cannot lock an entry of the reader table");
        }
    return SLIPRING_BUSY;
}

static void set_kind(struct slr_reader *r, enum slr_kind kind) {
    slr_agree_store(&r->state, slr_kind_next(slr_observe(&r->state), kind));
}

static void own_entry(slipring_subscriber *sub, enum slr_kind kind, uint64_t hold) {
    struct slr_segment *s = sub->s;
    struct slr_reader *r = &s->reader[sub->entry];
    uint32_t needed = (uint32_t)sub->entry + 1, high = slr_peek(&s->readers->high_reader);
    set_kind(r, SLR_KIND_FREE); /* the last owner's hold goes before ours comes */
    slr_poke(&r->received, 0);
    slr_poke(&r->lost, 0);
    slr_poke(&r->filtered, 0);
    slr_poke(&r->position, 0);
    slr_poke(&r->pid, (uint32_t)getpid());
    slr_poke(&r->since_ns, slr_clock_realtime_ns());
    slr_poke(&r->held, 0);
    slr_poke(&r->pool, 0);
    slr_publish(&r->hold, hold);
    while (high < needed && !slr_swap_if32(&s->readers->high_reader, high, needed)) high = slr_peek(&s->readers->high_reader);
    SLR_POINT("subscribe.before_state");
    set_kind(r, kind);
    SLR_POINT("subscribe.owned");
    slr_fence_full(); /* partner: the fence in advance_freed (reclaim.c) */
    sub->self = r;
}

static int take_entry(slipring_subscriber *sub, bool reliable, bool required) {
    if (sub->s->readers_writable) {
        slr_sweep_readers(sub->s);
        slr_sweep_cursors(sub->s);
    }
    int code = sub->s->readers_writable ? lock_entry(sub->s, &sub->entry) : SLIPRING_BUSY;
    if (code == SLIPRING_OK) {
        SLR_POINT("subscribe.locked");
        uint64_t hold = reliable && !SLR_DEFECT(reliable_reader_joins_without_hold) ? 0 : SLR_NO_HOLD;
        own_entry(sub, reliable ? SLR_KIND_RELIABLE : SLR_KIND_LOSSY, hold);
    }
    if (code != SLIPRING_BUSY) return code;
    if (!required) return SLIPRING_OK;
    if (!sub->s->readers_writable)
        return slr_fault(SLIPRING_DENIED, "lossy", "without write permission on the reader table only a lossy subscriber "
                         "without a cursor can read: use lossy=True and no cursor=");
    return slr_fault(SLIPRING_TOO_MANY_READERS, "max_readers",
                     "the topic has its max_readers=%u live subscribers: use lossy=True, or create it with more",
                     sub->s->reader_count);
}

static int start_by_cursor(slipring_subscriber *sub, const slipring_subscribing *how) {
    bool is_new;
    uint64_t position = 0;
    int code = slr_cursor_attach(sub, how->cursor, &is_new, &position);
    if (code) return code;
    code = is_new ? slr_start_at(sub, how->start, how->start_seq) : slr_start_at(sub, SLIPRING_START_SEQ, position);
    /* A failed start closes the files, and with them the turn taken for a new cursor. */
    if (!code && is_new) slr_cursor_begin(sub, how->cursor, how->expires_ns, sub->position);
    if (code) return code;
    slr_publish(&sub->self->hold, SLR_NO_HOLD); /* the cursor's position holds from here on */
    set_kind(sub->self, SLR_KIND_CURSOR);
    return SLIPRING_OK;
}

static int begin(slipring_subscriber *sub, const slipring_subscribing *how) {
    bool topic_reliable = sub->s->delivery == SLR_RELIABLE;
    if (how->lossy == 0 && !topic_reliable)
        return slr_fault(SLIPRING_BAD_ARGUMENT, "lossy", "the topic's delivery is \"lossy\": a subscriber with lossy=False "
                         "needs a topic with delivery=\"reliable\"");
    if (how->lossy == 1 && how->cursor && topic_reliable)
        return slr_fault(SLIPRING_BAD_ARGUMENT, "lossy", "a cursor on a reliable topic loses nothing: leave lossy=True out");
    bool reliable = topic_reliable && how->lossy != 1;
    int code = take_entry(sub, reliable, reliable || how->cursor);
    if (code) return code;
    sub->safe = reliable;
    code = how->cursor ? start_by_cursor(sub, how) : slr_start_at(sub, how->start, how->start_seq);
    if (!code) slr_read_show_progress(sub);
    return code;
}

int slipring_subscriber_open(const char *bus, const char *topic, const slipring_subscribing *how,
                             slipring_subscriber **out) {
    slipring_subscriber *sub = calloc(1, sizeof *sub);
    if (!sub) return slr_fault_errno("cannot open a subscriber");
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
        SLR_POINT("unsubscribe.freed");
        if (s->readers_writable) slr_wake_sleepers(&s->readers->space);
    }
    if (s) slr_segment_close(s); /* releases the locks */
    slr_filter_free(sub->filter);
    free(sub);
}

int slipring_subscriber_seek(slipring_subscriber *sub, int start, uint64_t start_seq) {
    int code = slr_read_check(sub);
    if (code) return code;
    bool holds = sub->safe && sub->cursor < 0;
    if (holds) {
        slr_publish(&sub->self->hold, 0); /* as when subscribing */
        slr_fence_full();
    }
    code = slr_start_at(sub, start, start_seq);
    if (holds) slr_hold_publish(sub);
    if (code) return code;
    if (sub->cursor >= 0 && sub->safe) {
        uint64_t committed = slr_observe(&sub->s->cursor[sub->cursor].position);
        if (sub->position < committed) slr_start_at(sub, SLIPRING_START_SEQ, committed);
    }
    slr_read_show_progress(sub);
    return SLIPRING_OK;
}

void slipring_subscriber_counts(slipring_subscriber *sub, slipring_counts *out) {
    uint64_t tail = sub->position;
    if (sub->s->fork_generation == slr_fork_generation()) {
        if (sub->conflate) slr_read_settle(sub, sub->s->slot_count + 1);
        tail = slr_observe(&sub->s->ring->tail);
    }
    *out = (slipring_counts){.received = sub->received,
                             .lost = sub->lost,
                             .filtered = sub->filtered,
                             .position = sub->position,
                             .tail = tail,
                             .entry = sub->entry,
                             .reliable = sub->safe};
}

void slipring_subscriber_interrupt(slipring_subscriber *sub) {
    slr_agree_store(&sub->interrupted, 1);
    if (sub->s->readers_writable && sub->s->fork_generation == slr_fork_generation())
        slr_wake_all(&sub->s->readers->wake);
}

void slipring_copy(void *to, const void *shared, size_t size) { slr_copy_out(to, shared, size); }

static int try_recv(slipring_subscriber *sub, void *buffer, size_t buffer_size, slipring_message *out, char *meta) {
    for (;;) {
        int code = slipring_subscriber_peek(sub, out);
        if (code) return code;
        if (out->size > buffer_size && slipring_subscriber_intact(sub))
            return slr_fault(SLIPRING_TOO_LARGE, "buffer", "the next message has %u bytes, the buffer %zu", out->size,
                             buffer_size);
        if (out->size > buffer_size) out->size = (uint32_t)buffer_size; /* not its real size: accept will say so */
        slr_copy_out(buffer, out->body, out->size);
        slr_copy_out(meta, out->meta, (size_t)out->type_size + out->sender_size);
        code = slipring_subscriber_accept(sub);
        out->body = buffer;
        out->meta = meta;
        if (code != SLIPRING_LAPPED) return code;
    }
}

int slipring_subscriber_recv(slipring_subscriber *sub, void *buffer, size_t buffer_size, slipring_message *out,
                             char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8], int64_t deadline_ns) {
    for (;;) {
        int code = try_recv(sub, buffer, buffer_size, out, meta);
        if (code != SLIPRING_EMPTY || deadline_ns == SLIPRING_NOW) return code;
        code = slipring_wait(&sub, 1, NULL, 0, deadline_ns, SLR_SPIN_NS);
        if (code == SLIPRING_TIMEOUT) return try_recv(sub, buffer, buffer_size, out, meta);
        if (code) return code;
    }
}
