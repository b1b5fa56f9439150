/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher as its own files see it: publisher.c (life), send.c, loan.c, space.c (waiting for room), and as those see it
 * who work on one: frame_writer.c, frame_buffers.c.
 */
#ifndef SLR_PUBLISHER_H
#define SLR_PUBLISHER_H

#include "claim.h"
#include "defects.h"
#include "fault.h"
#include "points.h"
#include "ticker.h"
#include "wait.h"
#include "will.h"

#define SLR_SHORTEST_SPACE_SLICE_NS INT64_C(500000)

struct slipring_publisher {
    struct slr_claimer claimer;
    struct slr_segment *s;
    struct slr_writer *self;
    uint64_t since_seq;
    uint64_t refused_size; /* of the last claim that found no room */
    struct slr_ticker ticker;
    int64_t next_file_check_ns, slice_ns;
    _Atomic uint64_t interrupted;
    /* The block stored behind a body: type, then sender, then zeros up to a whole word. Rebuilt when one of them changes. */
    uint8_t type_size, sender_size;
    union {
        uint8_t meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
        uint64_t meta_words[(SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8) / 8];
    };
    uint8_t own_sender_size;
    uint8_t own_sender[SLIPRING_MAX_SENDER];
    bool meta_is_own; /* its sender is our own */
};

/* publisher.c */
struct slr_segment *slr_publisher_segment(slipring_publisher *pub);
int slr_sender_check(size_t sender_size);

/* OK, CLOSED, FORKED or TOPIC_GONE */
static inline int slr_publisher_usable(slipring_publisher *pub) {
    if (slr_peek(&pub->interrupted)) return slr_fault(SLIPRING_CLOSED, "", "the publisher is closed");
    return slr_segment_check(pub->s);
}

/* Before something becomes readable, until readers were woken: whoever dies between has the kernel wake them. */
static inline void slr_will_wake_readers(slipring_publisher *pub) {
    slr_will_make(SLR_DEFECT(publisher_makes_no_will) ? &pub->s->readers->space : &pub->s->readers->orphan);
}

static inline void slr_wake_readers(slipring_publisher *pub) {
    /* Between publishing a message and looking for sleepers; partner: the sleeper announces itself, then looks for a
     * message. Without it both may miss the other and the wake-up is lost. */
    if (SLR_DEFECT(will_revoked_before_wake)) slr_will_revoke();
    slr_fence_full();
    SLR_POINT("send.before_wake");
    slr_wake_sleepers(&pub->s->readers->wake);
    slr_will_revoke();
}

#endif
