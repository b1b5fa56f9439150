/* SPDX-License-Identifier: Apache-2.0
 *
 * The third file of a topic whose messages announce frames, and those messages: docs/spec/frames.md.
 *
 *   <topic>.frames    header page | stream table | buffer words | buffers, each page-aligned
 */
#ifndef SLR_TOPIC_FRAMES_LAYOUT_H
#define SLR_TOPIC_FRAMES_LAYOUT_H

#include "topic/layout.h"

#define SLR_POOL_MAGIC 0x314d524650494c53ull    /* "SLIPFRM1" */
#define SLR_POOL_STREAM_SIZE 256u
#define SLR_POOL_BUFFER_SIZE 64u
#define SLR_FRAME_SIZE 64u
#define SLR_POOL_STREAMS 16u /* fill a page */
#define SLR_POOL_BUFFERS 64u /* fill a page and a mask of 64 bits */
#define SLR_POOL_DIMENSIONS 8u
#define SLR_POOL_DTYPE 96u

/* The word of a frame buffer: state (2 bits), number of its frame (62 bits). Numbers start at 1 and are never reused. */
enum slr_buffer_state { SLR_BUFFER_FREE = 0, SLR_BUFFER_WRITING = 1, SLR_BUFFER_SENT = 2 };

/* The pool of a frames topic: everything but the last three fields is written once by the creator. */
struct slr_pool_header {
    uint64_t magic;
    uint32_t version;
    uint32_t page_size;
    uint64_t layout_hash;
    uint64_t generation;       /* random, different for every pool */
    uint64_t topic_generation; /* of the topic's ring */
    uint64_t file_size;
    int64_t created_ns;
    uint32_t stream_count;
    uint32_t buffer_count; /* of all streams together */
    alignas(64) _Atomic uint64_t replaced; /* set by the publisher before another pool gets the name */
    _Atomic uint64_t runs;                 /* number of publishers that have used this topic; for inspection only */
};

struct slr_pool_stream {
    uint8_t name[SLR_NAME_SIZE]; /* zero padded */
    uint64_t first_id;           /* of the stream's first frame in this pool */
    uint64_t frame_bytes;        /* item_size times all of shape */
    uint32_t item_size;
    uint32_t dimensions;
    uint32_t first_buffer;
    uint32_t buffer_count;
    uint64_t shape[SLR_POOL_DIMENSIONS];
    uint8_t dtype[SLR_POOL_DTYPE]; /* as numpy writes it, zero padded; the core does not interpret it */
};

struct slr_pool_buffer {
    alignas(64) _Atomic uint64_t word; /* {state, number}; written by the publisher alone */
};

/* The body of a message that announces a frame. Behind it: a u64 for each stream (frames sent in it so far), then metadata. */
struct slr_frame {
    uint64_t pool;   /* generation */
    uint64_t number; /* of the buffer's word */
    uint64_t id;     /* in its stream, from 0 */
    int64_t start_ns, end_ns;
    uint32_t buffer;
    uint32_t stream;
    uint32_t meta_size;
    uint32_t meta_kind; /* defined by the sender */
    uint64_t run;       /* of the publisher */
};

/* X(structure, field, offset, size) */
#define SLR_FRAMES_LAYOUT(X)              \
    X(pool_header, magic, 0, 8)           \
    X(pool_header, version, 8, 4)         \
    X(pool_header, page_size, 12, 4)      \
    X(pool_header, layout_hash, 16, 8)    \
    X(pool_header, generation, 24, 8)     \
    X(pool_header, topic_generation, 32, 8) \
    X(pool_header, file_size, 40, 8)      \
    X(pool_header, created_ns, 48, 8)     \
    X(pool_header, stream_count, 56, 4)   \
    X(pool_header, buffer_count, 60, 4)   \
    X(pool_header, replaced, 64, 8)       \
    X(pool_header, runs, 72, 8)           \
    X(pool_stream, name, 0, 64)           \
    X(pool_stream, first_id, 64, 8)       \
    X(pool_stream, frame_bytes, 72, 8)    \
    X(pool_stream, item_size, 80, 4)      \
    X(pool_stream, dimensions, 84, 4)     \
    X(pool_stream, first_buffer, 88, 4)   \
    X(pool_stream, buffer_count, 92, 4)   \
    X(pool_stream, shape, 96, 64)         \
    X(pool_stream, dtype, 160, 96)        \
    X(pool_buffer, word, 0, 8)            \
    X(frame, pool, 0, 8)                  \
    X(frame, number, 8, 8)                \
    X(frame, id, 16, 8)                   \
    X(frame, start_ns, 24, 8)             \
    X(frame, end_ns, 32, 8)               \
    X(frame, buffer, 40, 4)               \
    X(frame, stream, 44, 4)               \
    X(frame, meta_size, 48, 4)            \
    X(frame, meta_kind, 52, 4)            \
    X(frame, run, 56, 8)

SLR_FRAMES_LAYOUT(SLR_ASSERT_FIELD)
_Static_assert(sizeof(struct slr_pool_stream) == SLR_POOL_STREAM_SIZE, "pool stream");
_Static_assert(sizeof(struct slr_pool_buffer) == SLR_POOL_BUFFER_SIZE, "pool buffer");
_Static_assert(sizeof(struct slr_frame) == SLR_FRAME_SIZE, "frame");
_Static_assert(SLR_POOL_STREAMS * SLR_POOL_STREAM_SIZE == SLR_PAGE, "streams fill a page");
_Static_assert(SLR_POOL_BUFFERS * SLR_POOL_BUFFER_SIZE == SLR_PAGE, "buffer words fill a page");
_Static_assert(sizeof(struct slr_pool_header) <= SLR_PAGE, "pool header fits its page");

#endif
