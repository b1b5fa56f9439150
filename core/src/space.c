/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for room on a full ring.
 */
#include <errno.h>

#include "clock.h"
#include "fault.h"
#include "publisher.h"
#include "wait.h"

#define LONGEST_SLICE_NS INT64_C(10000000) /* how late a waiting publisher notices a reader's death */

/* Whether the refused claim would succeed now. */
static bool room_appeared(slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    uint64_t tail = slr_observe(&s->ring->tail);
    struct slr_need need = {.seq = tail, .start = slr_start_of(s, tail), .size = pub->refused_size};
    return slr_reclaim(s, pub->claimer.entry, &need) != SLIPRING_FULL;
}

static int sleep_for_space(slipring_publisher *pub, int64_t until) {
    _Atomic uint32_t *space = &pub->s->readers->space;
    uint32_t value = slr_sleep_announce(space);
    if (slr_peek(&pub->interrupted)) return slr_fault(SLIPRING_CLOSED, "", "the publisher was closed");
    if (room_appeared(pub)) return SLIPRING_OK;
    return slr_sleep(space, value, until) == EINTR ? SLIPRING_INTERRUPTED : SLIPRING_OK;
}

/* A stride: taking room message by message as a reader makes it would pass its line to and fro for each. */
static bool worth_going_on(const slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    uint64_t bytes = s->capacity / 16;
    return slr_readers_passed(s, s->slot_count / 16, bytes > pub->refused_size ? bytes : pub->refused_size);
}

/* Spins until a stride is free, then takes whatever there is, else sleeps. Readers wake us when they have made room
 * worth waking for. Their deaths, and the odd wake-up they skip to stay fast, are covered by sleeping in slices. */
int slipring_publisher_wait_space(slipring_publisher *pub, int64_t deadline_ns) {
    int64_t begun = slr_clock_monotonic_ns();
    do
        for (int i = 0; i < 64; i++) slr_pause();
    while (!worth_going_on(pub) && slr_clock_monotonic_ns() - begun < SLR_SPIN_NS);
    if (room_appeared(pub)) {
        pub->slice_ns = SLR_SHORTEST_SPACE_SLICE_NS;
        return SLIPRING_OK;
    }
    int64_t until = slr_clock_monotonic_ns() + pub->slice_ns;
    if (begun >= deadline_ns) return SLIPRING_TIMEOUT;
    if (pub->slice_ns < LONGEST_SLICE_NS) pub->slice_ns *= 2;
    int code = slr_segment_check_file(pub->s);
    if (code) return code;
    return sleep_for_space(pub, until < deadline_ns ? until : deadline_ns);
}
