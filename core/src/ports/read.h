/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps that all ways to read (read.c, columns.c) share: describe a complete message, and check a copy of it.
 */
#ifndef SLR_PORTS_READ_H
#define SLR_PORTS_READ_H

#include "base/defects.h"
#include "base/error.h"
#include "ports/subscriber.h"
#include "ring/slot_state.h"

/* Return true if the copy of sequence seq was not overwritten while it was made. */
static inline bool slr_intact(const slipring_subscriber *sub, uint64_t seq) {
    if (sub->holds_position) return true;
    slr_fence_acquire(); /* partner: the fence of the writer before it overwrites */
    return SLR_DEFECT(no_recheck_after_copy) || slr_load_relaxed(&sub->s->ring->oldest) <= seq;
}

static inline int slr_describe(const slipring_subscriber *sub, uint64_t seq, slipring_message *out) {
    const struct slr_segment *s = sub->s;
    const struct slr_slot *slot = slr_slot_of(s, seq);
    uint64_t lengths = slr_load_relaxed(&slot->lengths), end = slr_load_relaxed(&slot->end);
    uint64_t body = slr_lengths_body(lengths), meta = slr_lengths_type(lengths) + (uint64_t)slr_lengths_sender(lengths);
    uint64_t size = slr_message_bytes(body, meta);
    bool too_large = size > s->capacity && !SLR_DEFECT(message_of_any_size);
    if ((too_large || lengths >> 48) && !SLR_DEFECT(lengths_not_checked))
        return slr_intact(sub, seq) ? slr_error_damaged("a message has an impossible size") : SLIPRING_LAPPED;
    if (SLR_DEFECT(lengths_read_twice)) lengths = slr_load_relaxed(&slot->lengths), body = slr_lengths_body(lengths);
    if (SLR_DEFECT(messages_one_word_too_far)) end += 8;
    const uint8_t *payload = s->payload + ((end - size) & s->payload_mask & ~UINT64_C(7));
    *out = (slipring_message){.seq = seq,
                              .time_ns = slr_load_relaxed(&slot->time_ns),
                              .body = payload,
                              .meta = payload + slr_round8(body),
                              .size = (uint32_t)body,
                              .type_size = slr_lengths_type(lengths),
                              .sender_size = slr_lengths_sender(lengths)};
    return SLIPRING_OK;
}

/* Whether the subscriber receives every message: no filter, no conflation. */
static inline bool slr_reads_all(const slipring_subscriber *sub) { return !sub->conflate && !sub->filter; }

#endif
