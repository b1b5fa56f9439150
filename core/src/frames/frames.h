/* SPDX-License-Identifier: Apache-2.0
 *
 * What writers and readers of frames share: the announcement of a frame, and the newest one.
 */
#ifndef SLR_FRAMES_FRAMES_H
#define SLR_FRAMES_FRAMES_H

#include "frames/pool.h"
#include "ports/subscriber.h"

#define SLR_ANNOUNCEMENT_SIZE (SLR_FRAME_SIZE + SLR_POOL_STREAMS * sizeof(uint64_t) + SLIPRING_MAX_FRAME_META)

/* The body of a message, checked to be complete. */
struct slr_announcement {
    struct slr_frame frame;
    uint32_t count;                    /* streams of its pool */
    uint64_t counts[SLR_POOL_STREAMS]; /* frames sent in each, this one included */
    uint8_t meta[SLIPRING_MAX_FRAME_META];
    uint64_t seq;
    int64_t time_ns;
};

/* The subscriber's next message: OK, EMPTY, CORRUPT (passed over) and so on. */
int slr_announcement_next(slipring_subscriber *sub, struct slr_announcement *out);
/* The topic's newest one, whatever the filter; the position is behind it. */
int slr_announcement_newest(slipring_subscriber *sub, struct slr_announcement *out);
/* The one before the subscriber's position, where it stays; a later one, and it stands behind that, if this is gone. */
int slr_announcement_before(slipring_subscriber *sub, struct slr_announcement *out);

/* Frames sent in each stream of the pool so far: told by the newest announcement if it is of this pool. */
void slr_frames_counts(const struct slr_pool *pool, const struct slr_announcement *newest, uint64_t *counts);

#endif
