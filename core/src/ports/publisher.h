/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher, for the files that work on it: publisher.c (open, close, wait for room), send.c (all ways to send) and the frame
 * writer (frames/writer.c, frames/fill.c).
 */
#ifndef SLR_PORTS_PUBLISHER_H
#define SLR_PORTS_PUBLISHER_H

#include <string.h>

#include "base/copy.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "base/tsc_clock.h"
#include "ring/claim.h"
#include "wait/death_wake.h"
#include "wait/futex.h"

#define SLR_SHORTEST_SPACE_SLICE_NS INT64_C(500000)

struct slipring_publisher {
    struct slr_claimer claimer;
    struct slr_segment *s;
    struct slr_writer *self;
    uint64_t since_seq;
    uint64_t refused_size; /* of the last claim that found no room */
    struct slr_tsc_clock clock;
    int64_t next_file_check_ns, slice_ns;
    _Atomic uint64_t interrupted;
    /* The block stored behind a body: type, then sender, then zeros up to a whole word. Rebuilt when type or sender changes. */
    uint8_t type_size, sender_size;
    union {
        uint8_t meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
        uint64_t meta_words[(SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8) / 8];
    };
    uint8_t own_sender_size;
    uint8_t own_sender[SLIPRING_MAX_SENDER];
    bool meta_is_own; /* the sender in it is the publisher's own */
};

/* publisher.c */
struct slr_segment *slr_publisher_segment(slipring_publisher *pub);
int slr_sender_check(size_t sender_size);

/* OK, CLOSED, FORKED or TOPIC_GONE */
static inline int slr_publisher_usable(slipring_publisher *pub) {
    if (slr_load_relaxed(&pub->interrupted)) return slr_error(SLIPRING_CLOSED, "", "the publisher is closed");
    return slr_segment_check(pub->s);
}

/* Set before a message becomes readable, cleared after readers were woken. If the process dies in between, the kernel wakes
 * them. */
static inline void slr_readers_death_wake_set(slipring_publisher *pub) {
    slr_death_wake_set(SLR_DEFECT(publisher_sets_no_death_wake) ? &pub->s->readers->space : &pub->s->readers->death_wake);
}

static inline void slr_wake_readers(slipring_publisher *pub) {
    /* Orders the store of the message before the load of the sleepers. Partner: a sleeper announces itself, then checks for a
     * message (slr_read_may_have_message). Without it each may miss the other, and the wake-up is lost. */
    if (SLR_DEFECT(death_wake_cleared_before_wake)) slr_death_wake_clear();
    slr_fence_seq_cst();
    SLR_CRASH_POINT("send.before_wake");
    slr_wake_sleepers(&pub->s->readers->wake);
    slr_death_wake_clear();
}

#endif
