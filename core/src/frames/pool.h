/* SPDX-License-Identifier: Apache-2.0
 *
 * The third file of a frames topic, mapped into this process, with a private, checked copy of its geometry.
 */
#ifndef SLR_FRAMES_POOL_H
#define SLR_FRAMES_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomics.h"
#include "slipring.h"
#include "topic/frames_layout.h"
#include "topic/segment.h"

struct slr_pool {
    uint64_t generation, topic_generation;
    uint32_t stream_count, buffer_count;
    slipring_stream stream[SLR_POOL_STREAMS];
    uint64_t first_id[SLR_POOL_STREAMS];
    uint32_t first_buffer[SLR_POOL_STREAMS];
    uint64_t frame_bytes[SLR_POOL_STREAMS];
    uint64_t offset[SLR_POOL_BUFFERS]; /* of each buffer in the file */
    uint64_t file_size;

    struct slr_pool_header *header; /* read-only for subscribers */
    struct slr_pool_buffer *buffer;
    uint8_t *base;
    size_t span;

    /* A reader's (reader.c). */
    uint64_t held, serial;
    struct slr_pool *next;
};

static inline uint64_t slr_buffer_word(enum slr_buffer_state state, uint64_t number) { return number << 2 | state; }
static inline enum slr_buffer_state slr_buffer_state_of(uint64_t word) { return (enum slr_buffer_state)(word & 3); }
static inline uint64_t slr_buffer_number(uint64_t word) { return word >> 2; }

/* Fills the sizes and offsets from the streams: OK, or BAD_ARGUMENT naming the argument. */
int slr_pool_plan(struct slr_pool *pool, const slipring_stream *streams, size_t count);
bool slr_pool_same_streams(const struct slr_pool *a, const struct slr_pool *b);
int slr_pool_find(const struct slr_pool *pool, const char *stream); /* -1: there is no stream with this name */

/* Open the pool. NOT_FOUND if there is none; CORRUPT or WRONG_LAYOUT if the file is not usable. SLR_INSPECT does not prefault. */
int slr_pool_open(const char *bus, const char *topic, enum slr_access access, struct slr_pool **out);
/* Create a complete file from a planned pool (with first_id) and rename it over an existing pool. */
int slr_pool_create(const char *bus, const char *topic, const struct slr_pool *plan, uint64_t topic_generation,
                    uint64_t runs, uint32_t mode);
/* Remove the new file of a writer that died before it renamed the file. Only for the single writer of the topic. */
int slr_pool_clean(const char *bus, const char *topic);
void slr_pool_close(struct slr_pool *pool);

#endif
