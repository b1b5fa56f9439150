/* SPDX-License-Identifier: Apache-2.0
 *
 * One look at one slot, and what it says: how readers of every kind (read.c, conflate.c, drain.c) see the ring.
 */
#ifndef SLR_LOOK_H
#define SLR_LOOK_H

#include "defects.h"
#include "fault.h"
#include "subscriber.h"

enum slr_look { SLR_FOUND, SLR_NOTHING, SLR_OPEN_CLAIM, SLR_ABANDONED, SLR_OVERTAKEN, SLR_DAMAGED };

/* look.c: a claim that has not ended yet, and that is looked at for a little while. */
enum slr_look slr_judge_claim(const struct slr_segment *s, uint64_t seq, uint64_t word);

static inline enum slr_look slr_look_at_word(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    /* Acquire, partner of the release in slr_commit: a message that is READY is complete. */
    *word = slr_observe(&slr_slot_of(s, seq)->word);
    uint64_t lap = slr_word_lap(*word), mine = slr_lap(s, seq);
    if (lap != mine) return lap < mine || SLR_DEFECT(lapped_reader_sees_nothing) ? SLR_NOTHING : SLR_OVERTAKEN;
    switch (slr_word_state(*word)) {
        case SLR_READY: return SLR_FOUND;
        case SLR_GONE: return SLR_ABANDONED;
        case SLR_CLAIMED: return SLR_OPEN_CLAIM;
        default: return SLR_DAMAGED;
    }
}

static inline bool slr_counted(const struct slr_segment *s, uint64_t seq) {
    return (int64_t)(slr_observe(&s->ring->tail) - seq) > 0;
}

static inline enum slr_look slr_look_at(const struct slr_segment *s, uint64_t seq, uint64_t *word) {
    enum slr_look look = slr_look_at_word(s, seq, word);
    if (look == SLR_FOUND || look == SLR_NOTHING) return look;
    if (look == SLR_OPEN_CLAIM) look = slr_judge_claim(s, seq, *word);
    return look == SLR_ABANDONED && !slr_counted(s, seq) ? SLR_NOTHING : look;
}

/* True if what was copied of sequence seq is what its writer wrote. */
static inline bool slr_intact(const slipring_subscriber *sub, uint64_t seq) {
    if (sub->safe) return true;
    slr_fence_after_copy(); /* partner: the writer's fence before it overwrites */
    return SLR_DEFECT(no_recheck_after_copy) || slr_peek(&sub->s->ring->oldest) <= seq;
}

static inline int slr_describe(const slipring_subscriber *sub, uint64_t seq, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    const struct slr_slot *slot = slr_slot_of(s, seq);
    uint64_t lengths = slr_peek(&slot->lengths), end = slr_peek(&slot->end);
    uint64_t body = slr_lengths_body(lengths), meta = slr_lengths_type(lengths) + (uint64_t)slr_lengths_sender(lengths);
    uint64_t size = slr_reserved(body, meta);
    bool too_large = size > s->capacity && !SLR_DEFECT(message_of_any_size);
    if ((too_large || lengths >> 48) && !SLR_DEFECT(lengths_not_checked))
        return slr_intact(sub, seq) ? slr_fault_damaged("a message has an impossible size") : SLIPRING_LAPPED;
    if (SLR_DEFECT(lengths_read_twice)) lengths = slr_peek(&slot->lengths), body = slr_lengths_body(lengths);
    if (SLR_DEFECT(messages_one_word_too_far)) end += 8;
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

/* The usual case by itself: a complete message. */
static inline bool slr_ready_at(const struct slr_segment *s, uint64_t seq) {
    uint64_t word = slr_observe(&slr_slot_of(s, seq)->word); /* partner: slr_commit */
    return slr_word_state(word) == SLR_READY && slr_word_lap(word) == slr_lap(s, seq);
}

/* Nothing is passed over but what never became a message. */
static inline bool slr_plain(const slipring_subscriber *sub) { return !sub->conflate && !sub->filter; }

#endif
