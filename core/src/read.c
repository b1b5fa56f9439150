/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading. A reader polls the word of the slot its position falls on; READY with the right lap is a message.
 *
 * By copy, without a hold: acquire the word, take the slot's fields and the payload by relaxed copies, fence, and look
 * at oldest. If it is still not past us, nothing we copied had been overwritten; else we were lapped: go on at oldest,
 * and count as lost the messages that lay between (gap.c). Laps are full width, so a reader any number of laps behind
 * knows it.
 *
 * Safe readers (reliable, or with a cursor on a reliable topic) have a hold at or below their position: no check.
 *
 * A slot that stays CLAIMED holds readers up, to keep the order, unless its owner is dead: then it is passed over. Only
 * writers may mark it GONE; readers map the ring read-only.
 *
 * Every value is checked or masked before it is used: contents can be wrong, not dangerous.
 */
#include "clock.h"
#include "copy.h"
#include "fault.h"
#include "gap.h"
#include "peers.h"
#include "subscriber.h"
#include "wait.h"

#define SETTLE_AT_ONCE 256 /* slots: keeps a conflating read short */
#define CLAIM_SPINS 32 /* a live writer's claim is over by then, mostly */

enum look { FOUND, NOTHING, OPEN_CLAIM, ABANDONED, OVERTAKEN, DAMAGED };

static int damaged(const char *what) {
    return slr_fault(SLIPRING_CORRUPT, "topic", "%s: the topic is damaged, remove it", what);
}

int slr_read_check(slipring_subscriber *sub) {
    if (slr_peek(&sub->interrupted)) return slr_fault(SLIPRING_CLOSED, "", "the subscriber is closed");
    return slr_segment_check(sub->s);
}

static inline enum look look_at_word(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    /* Acquire, partner of the release in slr_commit: a message that is READY is complete. */
    *word = slr_observe(&slr_slot_of(s, seq)->word);
    uint64_t lap = slr_word_lap(*word), mine = slr_lap(s, seq);
    if (lap != mine) return lap < mine ? NOTHING : OVERTAKEN;
    switch (slr_word_state(*word)) {
        case SLR_READY: return FOUND;
        case SLR_GONE: return ABANDONED;
        case SLR_CLAIMED: return OPEN_CLAIM;
        default: return DAMAGED;
    }
}

static bool counted(const struct slr_segment *s, uint64_t seq) {
    return (int64_t)(slr_observe(&s->ring->tail) - seq) > 0;
}

static enum look judge_claim(const struct slr_segment *s, uint64_t seq, uint64_t word) {
    for (int i = 0; i < CLAIM_SPINS; i++) {
        if (slr_peek(&slr_slot_of(s, seq)->word) != word) return look_at_word(s, seq, &word);
        slr_pause();
    }
    /* Not yet counted in tail: nothing can stand behind it, so there is no need to pass it. */
    if (!counted(s, seq)) return NOTHING;
    if (!slr_writer_dead(s, slr_word_writer(word))) return OPEN_CLAIM;
    /* Dead now; had it committed before, the word would say so. */
    uint64_t again;
    enum look look = look_at_word(s, seq, &again);
    return look == OPEN_CLAIM ? ABANDONED : look;
}

static inline enum look look_at(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    enum look look = look_at_word(s, seq, word);
    if (look == FOUND || look == NOTHING) return look;
    if (look == OPEN_CLAIM) look = judge_claim(s, seq, *word);
    return look == ABANDONED && !counted(s, seq) ? NOTHING : look;
}

int slr_read_resync(slipring_subscriber *sub) {
    const struct slr_segment *s = sub->s;
    struct slr_gap gap;
    /* tail may be one behind a message that one writer has just made READY */
    if (sub->safe || !slr_gap_from(s, sub->position, sub->abandoned, &gap) || (int64_t)(gap.oldest - slr_observe(&s->ring->tail)) > 1)
        return damaged("a message disappeared that nobody may have reclaimed");
    sub->lost += gap.messages;
    sub->position = gap.oldest;
    sub->abandoned = gap.abandoned;
    if (sub->self) slr_poke(&sub->self->lost, sub->lost);
    return SLIPRING_OK;
}

/* True if what was copied of sequence seq is what its writer wrote. */
static bool intact(const slipring_subscriber *sub, uint64_t seq) {
    if (sub->safe) return true;
    slr_fence_after_copy(); /* partner: the writer's fence before it overwrites */
    return slr_peek(&sub->s->ring->oldest) <= seq;
}

bool slipring_subscriber_intact(const slipring_subscriber *sub) { return intact(sub, sub->position); }

static inline int describe(const slipring_subscriber *sub, uint64_t seq, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    const struct slr_slot *slot = slr_slot_of(s, seq);
    uint64_t lengths = slr_peek(&slot->lengths), end = slr_peek(&slot->end);
    uint64_t body = slr_lengths_body(lengths), meta = slr_lengths_type(lengths) + (uint64_t)slr_lengths_sender(lengths);
    uint64_t size = slr_reserved(body, meta);
    if (size > s->capacity || lengths >> 48) return intact(sub, seq) ? damaged("a message has an impossible size") : SLIPRING_LAPPED;
    const uint8_t *place = s->payload + ((end - size) & s->payload_mask & ~UINT64_C(7));
    *out = (slipring_message){.seq = seq,
                              .time_ns = slr_peek(&slot->time_ns),
                              .body = place,
                              .meta = place + slr_round8(body),
                              .size = (uint32_t)body,
                              .type_size = slr_lengths_type(lengths),
                              .sender_size = slr_lengths_sender(lengths)};
    return SLIPRING_OK;
}

/* OK: it passes; EMPTY: it does not; LAPPED. */
static inline int filter_message(slipring_subscriber *sub, uint64_t word, const slipring_message *m) {
    if (!sub->filter) return SLIPRING_OK;
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slr_copy_out(meta, m->meta, (size_t)m->type_size + m->sender_size);
    if (!intact(sub, m->seq)) return SLIPRING_LAPPED;
    bool passes = slr_filter_passes(sub->filter, slr_word_writer(word), m->seq, meta, m->type_size, meta + m->type_size,
                                    m->sender_size);
    return passes ? SLIPRING_OK : SLIPRING_EMPTY;
}

/* Publishers waiting for space are woken when there is some worth it: a sixteenth of the ring, or nothing left to
 * read. No fence: a wake-up missed here is made good by the next, or by the end of the publisher's slice. */
static void help_publishers(slipring_subscriber *sub, bool always) {
    if (!sub->safe || !sub->s->readers_writable) return;
    if (!always && sub->progress_messages < sub->s->slot_count / 16 && sub->progress_bytes < sub->s->capacity / 16) return;
    sub->progress_messages = sub->progress_bytes = 0;
    slr_wake_sleepers(&sub->s->readers->space);
}

void slr_read_show_progress(slipring_subscriber *sub) {
    if (!sub->self) return;
    slr_poke(&sub->self->position, sub->position);
    slr_poke(&sub->self->received, sub->received);
    slr_poke(&sub->self->filtered, sub->filtered);
    if (sub->safe && sub->cursor < 0) slr_hold_publish(sub);
    help_publishers(sub, false);
}

void slr_read_advance(slipring_subscriber *sub) {
    sub->position++;
    sub->received++;
    sub->peeked = false;
    sub->progress_messages++;
    sub->progress_bytes += sub->peeked_size;
}

static inline int peek_next(slipring_subscriber *sub, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    uint64_t begun = sub->position;
    int code = SLIPRING_EMPTY;
    /* Not more than a ring's worth of passing over at a time: hostile contents cannot keep us here. */
    for (uint64_t steps = 0; steps <= s->slot_count; steps++) {
        uint64_t word;
        enum look look = look_at(s, sub->position, &word);
        code = SLIPRING_EMPTY;
        if (look == NOTHING || look == OPEN_CLAIM) break;
        if (look == DAMAGED) return damaged("a slot is in no known state");
        if (look == ABANDONED) {
            sub->position++;
            if (sub->abandoned != SLR_UNKNOWN) sub->abandoned++;
            continue;
        }
        if (look == FOUND) code = describe(sub, sub->position, out);
        if (look == FOUND && code == SLIPRING_OK) code = filter_message(sub, word, out);
        if (look == OVERTAKEN || code == SLIPRING_LAPPED) {
            code = slr_read_resync(sub);
            if (code) return code;
            code = SLIPRING_EMPTY;
            continue;
        }
        if (code != SLIPRING_EMPTY) break;
        sub->position++;
        sub->filtered++;
        sub->progress_messages++;
    }
    if (sub->position != begun) slr_read_show_progress(sub);
    return code;
}

static void moved_to(slipring_subscriber *sub, uint64_t position) {
    if (position == sub->position) return;
    sub->position = position;
    slr_read_settle(sub, SETTLE_AT_ONCE);
    slr_read_show_progress(sub);
}

/* The newest message that passes the filter, at or after position; those between are filtered away. A slot found
 * overtaken is an answer: everything below it is gone too, and everything above was looked at. */
static int peek_newest(slipring_subscriber *sub, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    uint64_t oldest = slr_observe(&s->ring->oldest); /* before tail, which only grows: so it cannot be beyond it */
    uint64_t newest = slr_observe(&s->ring->tail), word;
    if (look_at_word(s, newest, &word) == FOUND) newest++; /* READY before one writer's tail */
    if ((int64_t)(newest - sub->position) <= 0) return SLIPRING_EMPTY;
    uint64_t lowest = newest - sub->position > s->slot_count ? newest - s->slot_count : sub->position;
    if ((int64_t)(oldest - newest) > 1) return damaged("oldest is beyond tail");
    if (!sub->safe && lowest < oldest) lowest = oldest;
    uint64_t next = newest; /* where to look from next time: not past a claim that may yet be committed */
    for (uint64_t seq = newest; seq-- > lowest;) {
        enum look look = look_at(s, seq, &word);
        if (look == OVERTAKEN) break;
        if (look == DAMAGED) return damaged("a slot is in no known state");
        if (look == OPEN_CLAIM || look == NOTHING) next = seq;
        if (look != FOUND) continue;
        int code = describe(sub, seq, out);
        if (code == SLIPRING_OK) code = filter_message(sub, word, out);
        if (code == SLIPRING_LAPPED) break;
        if (code == SLIPRING_OK) sub->position = seq;
        if (code != SLIPRING_EMPTY) return code;
    }
    moved_to(sub, next);
    return SLIPRING_EMPTY;
}

/* The usual case by itself: a complete message at position, and nothing to be passed over. */
static inline bool ready_at(const struct slr_segment *s, uint64_t seq) {
    uint64_t word = slr_observe(&slr_slot_of(s, seq)->word); /* partner: slr_commit */
    return slr_word_state(word) == SLR_READY && slr_word_lap(word) == slr_lap(s, seq);
}

static inline bool plain(const slipring_subscriber *sub) { return !sub->conflate && !sub->filter; }

/* After slr_read_check. */
static inline int peek(slipring_subscriber *sub, slipring_message *out) {
    sub->peeked = false;
    int code = SLIPRING_LAPPED;
    if (plain(sub) && ready_at(sub->s, sub->position)) code = describe(sub, sub->position, out);
    if (code == SLIPRING_LAPPED) code = sub->conflate ? peek_newest(sub, out) : peek_next(sub, out);
    sub->peeked = code == SLIPRING_OK;
    if (code == SLIPRING_OK) {
        sub->slice_ns = 0;
        sub->peeked_size = slr_reserved(out->size, (uint64_t)out->type_size + out->sender_size);
    }
    if (code == SLIPRING_EMPTY) help_publishers(sub, true);
    return code;
}

int slipring_subscriber_peek(slipring_subscriber *sub, slipring_message *out) {
    sub->peeked = false;
    int code = slr_read_check(sub);
    return code ? code : peek(sub, out);
}

/* The peeked message was overwritten. LAPPED: go on from where the position is now, which is further than before. */
static int give_up_peeked(slipring_subscriber *sub) {
    sub->peeked = false;
    int code = SLIPRING_OK;
    if (sub->conflate)
        moved_to(sub, sub->position + 1); /* that one is gone; the newest is further on */
    else
        code = slr_read_resync(sub);
    return code ? code : SLIPRING_LAPPED;
}

int slipring_subscriber_accept(slipring_subscriber *sub) {
    if (!sub->peeked) return slr_fault(SLIPRING_BAD_ARGUMENT, "", "there is no peeked message to accept");
    if (!intact(sub, sub->position)) return give_up_peeked(sub);
    slr_read_advance(sub);
    if (sub->conflate) slr_read_settle(sub, SETTLE_AT_ONCE);
    slr_read_show_progress(sub);
    return SLIPRING_OK;
}

#define AHEAD 8 /* messages: their slots and bytes are on the way while we copy */

/* As many as follow each other without anything to be passed over, a sixteenth of the ring at most: publishers may be
 * waiting for what we have read. Stops at whatever is not a complete message; the general way finds out what it is.
 * OK: go on; else the code to return if *count is 0. */
static int drain_plain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *count) {
    const struct slr_segment *s = sub->s;
    slipring_message m;
    uint64_t begun = sub->position, bytes = 0, seq = begun;
    bool refused = false, overwritten = false;
    if (limit > s->slot_count / 16) limit = s->slot_count / 16;
    for (; seq - begun < limit && bytes < s->capacity / 16 && ready_at(s, seq); seq++) {
        __builtin_prefetch(slr_slot_of(s, seq + AHEAD));
        if (describe(sub, seq, &m)) break;
        __builtin_prefetch(m.body + AHEAD * 64);
        if ((refused = !sink(context, &m)) || (overwritten = !intact(sub, seq))) break;
        bytes += slr_reserved(m.size, (uint64_t)m.type_size + m.sender_size);
    }
    sub->position = seq;
    sub->received += seq - begun;
    sub->progress_messages += seq - begun;
    sub->progress_bytes += bytes;
    *count = (size_t)(seq - begun);
    if (overwritten) return give_up_peeked(sub); /* the sink has one message too many: beyond *count */
    return refused ? SLIPRING_FULL : SLIPRING_OK;
}

static int drain_any(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *count) {
    slipring_message message;
    int code = SLIPRING_OK;
    while (!code && *count < limit) {
        code = peek(sub, &message);
        if (code || !sink(context, &message)) break;
        if (!intact(sub, sub->position)) {
            code = give_up_peeked(sub); /* the sink has one message too many: beyond *taken */
            break;
        }
        slr_read_advance(sub);
        ++*count;
    }
    return code;
}

int slipring_subscriber_drain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *taken) {
    int code = slr_read_check(sub);
    size_t count = 0;
    sub->peeked = false;
    if (!code && plain(sub)) code = drain_plain(sub, limit, sink, context, &count);
    if (!code && !count) code = drain_any(sub, limit, sink, context, &count);
    if (code == SLIPRING_FULL) code = SLIPRING_OK; /* the sink is, not the ring */
    sub->peeked = false;
    if (count) sub->slice_ns = 0;
    *taken = count;
    if (sub->conflate) slr_read_settle(sub, SETTLE_AT_ONCE);
    if (count) slr_read_show_progress(sub);
    return count ? SLIPRING_OK : code;
}

/* A conflating reader jumps ahead in O(1) and counts what it passed over afterwards, at most `limit` slots at a time;
 * every message in [start, settled) that it did not receive was filtered away. */
void slr_read_settle(slipring_subscriber *sub, uint64_t limit) {
    const struct slr_segment *s = sub->s;
    for (; limit && sub->settled < sub->position; limit--) {
        uint64_t word;
        struct slr_gap gap;
        enum look look = look_at(s, sub->settled, &word);
        if (look == OPEN_CLAIM || look == NOTHING || look == DAMAGED) break;
        if (look == OVERTAKEN || slr_peek(&s->ring->oldest) > sub->settled) {
            if (!slr_gap_from(s, sub->settled, sub->abandoned, &gap) || gap.oldest > sub->position) break;
            sub->settled_messages += gap.messages;
            sub->settled = gap.oldest;
            sub->abandoned = gap.abandoned;
            continue;
        }
        if (look == FOUND)
            sub->settled_messages++;
        else if (sub->abandoned != SLR_UNKNOWN)
            sub->abandoned++;
        sub->settled++;
    }
    uint64_t filtered = sub->settled_messages - sub->received;
    if (sub->settled_messages > sub->received && filtered > sub->filtered) sub->filtered = filtered;
}

bool slr_read_maybe_ready(slipring_subscriber *sub, bool *behind_claim) {
    const struct slr_segment *s = sub->s;
    uint64_t word;
    /* Sequentially consistent: the second half of announcing oneself as a sleeper; partner: wake_readers. */
    slr_fence_full();
    enum look look = look_at_word(s, sub->position, &word);
    *behind_claim = look == OPEN_CLAIM && counted(s, sub->position);
    return look == FOUND || look == OVERTAKEN || look == DAMAGED || (look == ABANDONED && counted(s, sub->position));
}
