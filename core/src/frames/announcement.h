/* SPDX-License-Identifier: Apache-2.0
 *
 * The announcement of a frame, for writers and readers.
 */
#ifndef SLR_FRAMES_ANNOUNCEMENT_H
#define SLR_FRAMES_ANNOUNCEMENT_H

#include "frames/pool.h"
#include "ports/subscriber.h"

#define SLR_ANNOUNCEMENT_SIZE (SLR_FRAME_SIZE + SLR_POOL_STREAMS * sizeof(uint64_t) + SLIPRING_MAX_FRAME_META)

/* The body of a message, checked for completeness. */
struct slr_announcement {
    struct slr_frame frame;
    uint32_t count;                    /* number of streams of its pool */
    uint64_t counts[SLR_POOL_STREAMS]; /* frames sent in each, this one included */
    uint8_t meta[SLIPRING_MAX_FRAME_META];
    uint64_t seq;
    int64_t time_ns;
};

/* Read the next message of the subscriber: OK, EMPTY, CORRUPT (the message is skipped) … */
int slr_announcement_next(slipring_subscriber *sub, struct slr_announcement *out);
/* Read the newest message of the topic, regardless of the filter; the position is behind it. */
int slr_announcement_newest(slipring_subscriber *sub, struct slr_announcement *out);
/* Read the message before the position, which stays. If that message is gone, read the newest one; the position is behind it. */
int slr_announcement_before(slipring_subscriber *sub, struct slr_announcement *out);

/* Return the frames sent so far in each stream of the pool: from the newest announcement if it belongs to this pool. */
void slr_frames_counts(const struct slr_pool *pool, const struct slr_announcement *newest, uint64_t *counts);

#endif
