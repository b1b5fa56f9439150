/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame writer, for the files that work on it: writer.c (open, close), fill.c (take, send, abort).
 */
#ifndef SLR_FRAMES_WRITER_H
#define SLR_FRAMES_WRITER_H

#include "frames/announcement.h"

struct slipring_frame_writer {
    slipring_publisher *pub; /* NULL: stopped */
    struct slr_segment *s;
    struct slr_pool *pool;
    uint64_t run;
    uint64_t counts[SLR_POOL_STREAMS]; /* frames sent in each stream by all writers */
    uint64_t number;                   /* the highest number of any buffer of the pool */
    uint64_t open;                     /* buffers taken and neither sent nor aborted */
    uint64_t seq[SLR_POOL_BUFFERS];    /* of the announcement of each buffer's frame, plus 1; 0: none of this writer */
    int64_t taken_ns[SLR_POOL_BUFFERS];
    uint8_t body[SLR_ANNOUNCEMENT_SIZE];
};

#endif
