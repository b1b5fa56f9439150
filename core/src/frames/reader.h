/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame reader, for the files that work on it: reader.c (open, close, pools), take.c (take, release).
 */
#ifndef SLR_FRAMES_READER_H
#define SLR_FRAMES_READER_H

#include "frames/announcement.h"

#define SLR_ANY_ID UINT64_MAX /* an expected id: the first one that arrives is accepted */

struct slipring_frame_reader {
    slipring_subscriber *sub;
    char *bus, *topic;
    char stream[SLR_NAME_SIZE]; /* "": all */
    bool conflate;
    slipring_stream *insist;
    size_t insist_count;
    struct slr_pool *pool;  /* the pool of the last announcement, or NULL */
    struct slr_pool *older; /* replaced pools with frames that are still held */
    uint64_t serial;
    uint64_t expected[SLR_POOL_STREAMS]; /* next id of each stream of the pool */
    uint64_t unseen;                     /* expected id of a new stream */
    uint64_t received, lost, filtered;
    struct slr_announcement announcement; /* the one read last */
};

/* reader.c: change to the current pool of the topic. EMPTY: there is none, or no other one. */
int slr_frame_follow(slipring_frame_reader *reader);

#endif
