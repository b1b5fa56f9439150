/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame writer as its own files see it: writer.c (life), buffers.c (taking and sending).
 */
#ifndef SLR_FRAMES_WRITER_H
#define SLR_FRAMES_WRITER_H

#include "frames/frames.h"

struct slipring_frame_writer {
    slipring_publisher *pub; /* NULL: stopped */
    struct slr_segment *s;
    struct slr_pool *pool;
    uint64_t run;
    uint64_t counts[SLR_POOL_STREAMS]; /* frames sent in each stream, by all writers ever */
    uint64_t number;                   /* the highest that any buffer of the pool has had */
    uint64_t open;                     /* buffers taken and neither sent nor aborted */
    uint64_t seq[SLR_POOL_BUFFERS];    /* of the announcement of each buffer's frame, plus 1; 0: none of ours */
    int64_t taken_ns[SLR_POOL_BUFFERS];
    uint8_t body[SLR_ANNOUNCEMENT_SIZE];
};

#endif
